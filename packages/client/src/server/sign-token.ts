import type { UserWrite } from '../protocol.ts';

/**
 * Which project signs, and how long the token is valid. The ID and the secret can be environment variables as they are: one that is
 * not set is reported when a token is signed.
 */
export interface ProjectTokenOptions {
  readonly projectID: string | undefined;
  /** The project's secret. It stays in the backend. */
  readonly secret: string | undefined;
  /** 1 to 86,400, the longest life that the server accepts. Default: 600. */
  readonly expiresInSeconds?: number | undefined;
}

/** The user of the token, and what the token allows. */
export interface ClientTokenOptions extends ProjectTokenOptions {
  readonly userID: string;
  /** The only group of the token. Default: all groups of the user. */
  readonly groupID?: string | undefined;
  /** Fields of a user: the first request with the token creates or updates the user with them. */
  readonly userDetails?: UserWrite | undefined;
}

const EXPIRES_IN_SECONDS = 600;
const EXPIRES_IN_MAX_SECONDS = 86_400;

/**
 * A token with which a page acts as one user. Sign it after your backend has authenticated the user.
 * @throws TypeError when a value is missing or is not a string: without a user it would be a token of the whole project
 * @throws RangeError for a life that the server does not accept
 */
export async function signClientToken(options: ClientTokenOptions): Promise<string> {
  const { userID, groupID, userDetails } = options;
  const claims = {
    user_id: text('userID', userID),
    group_id: groupID === undefined ? undefined : text('groupID', groupID),
    user_details: userDetails,
  };
  return sign(options, claims);
}

/**
 * A token with which a backend reads and writes all data of the project. A page must never have it.
 * @throws TypeError when a value is missing or is not a string
 * @throws RangeError for a life that the server does not accept
 */
export async function signProjectToken(options: ProjectTokenOptions): Promise<string> {
  return sign(options, {});
}

async function sign(options: ProjectTokenOptions, claims: object): Promise<string> {
  const { projectID, secret, expiresInSeconds = EXPIRES_IN_SECONDS } = options;
  if (!(expiresInSeconds >= 1 && expiresInSeconds <= EXPIRES_IN_MAX_SECONDS)) {
    throw new RangeError(`expiresInSeconds is 1 to ${EXPIRES_IN_MAX_SECONDS}, not ${expiresInSeconds}`);
  }
  const iat = Math.floor(Date.now() / 1_000);
  const exp = iat + Math.floor(expiresInSeconds);
  const payload = { project_id: text('projectID', projectID), ...claims, iat, exp };
  const signed = `${jsonPart({ alg: 'HS512', typ: 'JWT' })}.${jsonPart(payload)}`;
  // The key is the text of the secret; it is not decoded.
  const bytes = new TextEncoder().encode(text('secret', secret));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-512' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

/** An unset environment variable is the usual cause. The message has no value: it could be the secret. */
function text(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`${name} is missing: expected a string that is not empty`);
}

const jsonPart = (value: object) => base64url(new TextEncoder().encode(JSON.stringify(value)));

function base64url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
