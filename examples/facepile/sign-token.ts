import { createHmac } from 'node:crypto';

/** A project of Rollcall, and the secret that a backend signs its tokens with. */
export interface Credentials {
  readonly projectId: string;
  readonly secret: string;
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs a token of the project, as docs/api.md describes it. With `user_id` it is a client token, for a browser. */
export function signToken({ projectId, secret }: Credentials, claims: Record<string, string> = {}): string {
  const iat = Math.floor(Date.now() / 1_000);
  const signed = `${part({ alg: 'HS512', typ: 'JWT' })}.${part({ project_id: projectId, iat, ...claims })}`;
  return `${signed}.${createHmac('sha512', secret).update(signed).digest('base64url')}`;
}
