import { createHash } from 'node:crypto';
import { Findings, inspector, isJsonObject, parseJsonObject, UserWrite } from '@rollcall/protocol';
import type { ClientCaller, ClientDetails, GroupName } from '../core/caller.ts';
import { addMisfit, findingsError } from '../core/findings-error.ts';
import { tokenFailure } from '../core/token-failure.ts';
import type { Jwt } from './jwt.ts';
import type { ProjectTokenKind } from './project-token.ts';
import { isId } from './resolver.ts';

/** The claims that name the group of a client token. */
const GROUP_CLAIMS = [
  ['group_id', 'group'],
  ['organization_id', 'organization'],
] as const;

/**
 * Reads what a verified client token says.
 * @throws ServiceError the kind's `invalid` for an ID that is none; what a body would be refused with for `user_details`
 */
export function clientClaims(
  token: Jwt,
  kind: ProjectTokenKind,
): Pick<ClientCaller, 'userId' | 'group' | 'details'> {
  const { user_id: userId } = token.claims;
  if (!isId(userId)) throw tokenFailure(kind.invalid, `user_id of the ${kind.name} token is not an ID`);
  return { userId, group: groupOf(token, kind), details: detailsOf(token, kind) };
}

function groupOf({ claims }: Jwt, kind: ProjectTokenKind): GroupName | null {
  const named = GROUP_CLAIMS.filter(([claim]) => Object.hasOwn(claims, claim));
  const [only] = named;
  if (only === undefined) return null;
  if (named.length > 1)
    throw tokenFailure(
      kind.invalid,
      `the ${kind.name} token has group_id and its older name organization_id: either, not both`,
    );
  const [claim, noun] = only;
  const id = claims[claim];
  if (!isId(id)) throw tokenFailure(kind.invalid, `${claim} of the ${kind.name} token is not an ID`);
  return { noun, id };
}

const inspectDetails = inspector(UserWrite);

function detailsOf(token: Jwt, kind: ProjectTokenKind): ClientDetails | null {
  if (!Object.hasOwn(token.claims, 'user_details')) return null;
  const { user_details: write } = exactClaims(token, kind);
  const findings = new Findings();
  if (isJsonObject(write)) inspectDetails(write, findings);
  else findings.invalid.add('', "an object with a user's fields");
  if (!findings.clean) throw detailsError(findings);
  const { iat } = token.claims;
  return {
    write: write as UserWrite,
    fingerprint: createHash('sha256').update(signedPart(token)).digest('base64'),
    signedAt: typeof iat === 'number' ? iat * 1_000 : null,
  };
}

/** Without the signature, which depends on the secret: a rotated secret makes no other login. */
const signedPart = ({ compact }: Jwt) => compact.slice(0, compact.lastIndexOf('.'));

/** The claims once more, read like a body: numbers that would not be kept as they were written are told from others. */
function exactClaims({ compact }: Jwt, kind: ProjectTokenKind) {
  const [, payload = ''] = compact.split('.');
  try {
    return parseJsonObject(Buffer.from(payload, 'base64url'));
  } catch {
    throw tokenFailure(kind.invalid, `the claims of the ${kind.name} token cannot be read exactly`);
  }
}

/** Names the fields by their place in the token. */
function detailsError(findings: Findings) {
  const placed = new Findings();
  addMisfit(placed, findings, (place) => (place === '' ? 'user_details' : `user_details.${place}`));
  return findingsError(placed);
}
