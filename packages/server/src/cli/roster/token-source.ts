import { mintProjectToken } from '../../auth/sign.ts';
import type { Clock } from '../../core/clock.ts';

/** The token of a run, renewed for as long as the run takes. */
export interface TokenSource {
  token(): Promise<string>;
  /** Called when the server rejected the token; true when the next one will be another. */
  renew(): boolean;
}

/** One token, good until it expires. */
export const fixedToken = (token: string): TokenSource => ({
  token: async () => token,
  renew: () => false,
});

/** How long a minted token is used: far below what the server accepts, so that clocks may differ and runs may be long. */
const MINTED_USE_MS = 10 * 60_000;

/** Tokens made with a project's secret, a new one whenever the last has been in use for a while. */
export function mintedTokens(
  project: { readonly id: string; readonly secret: string },
  clock: Pick<Clock, 'now'>,
): TokenSource {
  let current: { readonly token: Promise<string>; readonly until: number } | null = null;
  return {
    token() {
      const now = clock.now();
      if (current === null || now >= current.until) {
        current = { token: mintProjectToken(project.id, project.secret, now), until: now + MINTED_USE_MS };
      }
      return current.token;
    },
    renew() {
      current = null;
      return true;
    },
  };
}
