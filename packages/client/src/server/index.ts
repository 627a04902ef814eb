/** `@rollcall/client/server`: signs tokens. It needs WebCrypto alone, which Node, edge runtimes and Bun have. */
export {
  type ClientTokenOptions,
  type ProjectTokenOptions,
  signClientToken,
  signProjectToken,
} from './sign-token.ts';
