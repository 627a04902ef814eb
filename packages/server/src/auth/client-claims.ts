import { createHash } from 'node:crypto';
import {
  isId,
  isJsonObject,
  parseJsonObject,
  UserWrite,
  ValidationErrors,
  validator,
} from '@rollcall/protocol';
import type { ClientCaller, ClientDetails } from '../core/caller.ts';
import { tokenFailure } from '../core/clients/token-failure.ts';
import { mergeErrors, validationError } from '../core/validation-error.ts';
import type { Jwt } from './jwt.ts';
import type { ProjectTokenKind } from './project-token.ts';

/** The claims that name the group of a client token; the second is the older name of the first. */
const GROUP_CLAIMS = ['group_id', 'organization_id'] as const;

/** The caller with a client token, and how the token names its group. */
export interface AuthenticatedClient extends ClientCaller {
  /** The token names its group as `organization_id`. */
  readonly usesOlderName: boolean;
}

/**
 * Reads the claims of a verified client token.
 * @throws ServiceError the kind's `invalid` for an ID that is none; the error of an equal body for `user_details`
 */
export function clientClaims(
  token: Jwt,
  kind: ProjectTokenKind,
): Pick<AuthenticatedClient, 'userId' | 'group' | 'usesOlderName' | 'details'> {
  const { user_id: userId } = token.claims;
  if (!isId(userId)) throw tokenFailure(kind.invalid, `user_id of the ${kind.name} token is not an ID`);
  return { userId, ...groupOf(token, kind), details: detailsOf(token, kind) };
}

function groupOf(
  { claims }: Jwt,
  kind: ProjectTokenKind,
): Pick<AuthenticatedClient, 'group' | 'usesOlderName'> {
  const [claim, other] = GROUP_CLAIMS.filter((name) => Object.hasOwn(claims, name));
  if (claim === undefined) return { group: null, usesOlderName: false };
  if (other !== undefined)
    throw tokenFailure(
      kind.invalid,
      `the ${kind.name} token has group_id and its older name organization_id: either, not both`,
    );
  const group = claims[claim];
  if (!isId(group)) throw tokenFailure(kind.invalid, `${claim} of the ${kind.name} token is not an ID`);
  return { group, usesOlderName: claim === 'organization_id' };
}

const validateDetails = validator(UserWrite);

function detailsOf(token: Jwt, kind: ProjectTokenKind): ClientDetails | null {
  if (!Object.hasOwn(token.claims, 'user_details')) return null;
  const { user_details: write } = exactClaims(token, kind);
  const errors = new ValidationErrors();
  if (isJsonObject(write)) validateDetails(write, errors);
  else errors.invalid.add('', "an object with a user's fields");
  if (!errors.clean) throw detailsError(errors);
  const { iat } = token.claims;
  return {
    write: write as UserWrite,
    fingerprint: createHash('sha256').update(signedPart(token)).digest('base64'),
    signedAt: typeof iat === 'number' ? iat * 1_000 : null,
  };
}

/** Without the signature, which depends on the secret: a rotated secret makes no other login. */
const signedPart = ({ compact }: Jwt) => compact.slice(0, compact.lastIndexOf('.'));

/** The claims, parsed like a body: numbers that JSON readers would alter are rejected. */
function exactClaims({ compact }: Jwt, kind: ProjectTokenKind) {
  const [, payload = ''] = compact.split('.');
  try {
    return parseJsonObject(Buffer.from(payload, 'base64url'));
  } catch {
    throw tokenFailure(kind.invalid, `the claims of the ${kind.name} token cannot be read exactly`);
  }
}

/** Names the fields by their path in the token. */
function detailsError(errors: ValidationErrors) {
  const renamed = new ValidationErrors();
  mergeErrors(renamed, errors, (path) => (path === '' ? 'user_details' : `user_details.${path}`));
  return validationError(renamed);
}
