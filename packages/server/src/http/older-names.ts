/**
 * "Organization" is the older name of a group. It is translated here, where a request enters and where an error leaves: the
 * paths `/v1/organizations…`, `organizationID` in bodies, `organization_not_found` and the word in messages. The claim
 * `organization_id` is read in `auth/client-claims.ts`.
 */
import type { ErrorCode, ValidationErrors } from '@rollcall/protocol';
import type { AuthenticatedClient } from '../auth/client-claims.ts';
import { GroupError, type ServiceError } from '../core/service-error.ts';
import { done, type PublicError } from '../wire/json-answer.ts';

const GROUPS_PATH = '/v1/groups';
const ORGANIZATIONS_PATH = '/v1/organizations';

/** The path of an operation under the older name; null where it has none. */
export const olderPath = (path: string): string | null =>
  path.startsWith(GROUPS_PATH) ? ORGANIZATIONS_PATH + path.slice(GROUPS_PATH.length) : null;

/** What a request names a group in. The body of a socket's request is a frame. */
interface NamingRequest {
  readonly path?: string | null;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly caller?: unknown;
}

/** The name that a request uses for its group: where the request names none, that of the client token. */
function nounOf({ path, query, body, caller }: NamingRequest): 'group' | 'organization' {
  if (path?.startsWith(ORGANIZATIONS_PATH) || has(body, 'organizationID')) return 'organization';
  if (path?.includes('/groups/') || has(body, 'groupID') || has(query, 'groupID')) return 'group';
  const { usesOlderName = false } = (caller ?? {}) as Partial<AuthenticatedClient>;
  return usesOlderName ? 'organization' : 'group';
}

const has = (value: unknown, field: string) =>
  (value as Readonly<Record<string, unknown>> | undefined)?.[field] !== undefined;

/** What a caller is sent of an error. */
export type Words = (error: ServiceError) => PublicError;

const asGroup: Words = (error) => error;

const asOrganization: Words = (error) =>
  error instanceof GroupError
    ? { code: olderCode(error.code), message: `${error.before}organization${error.after}` }
    : error;

const olderCode = (code: ErrorCode) => (code === 'group_not_found' ? 'organization_not_found' : code);

/** Every error that leaves goes through here: in the words of the request that it answers, or whose stream it ends. */
export const callersWords = (request: NamingRequest): Words =>
  nounOf(request) === 'group' ? asGroup : asOrganization;

/** The answer to a write of a group that was applied. */
export const doneToGroup = (request: NamingRequest, what: string, id: string) =>
  done(`${what} ${nounOf(request)} ${id}`);

/** Copies `organizationID` to `groupID`. Takes values of any type. */
export function readGroupId(
  body: { groupID?: unknown; readonly organizationID?: unknown },
  errors: ValidationErrors,
): void {
  const { groupID, organizationID } = body;
  if (organizationID === undefined) return;
  if (groupID === undefined) body.groupID = organizationID;
  else errors.invalid.add('organizationID', 'either groupID or its older name organizationID, not both');
}
