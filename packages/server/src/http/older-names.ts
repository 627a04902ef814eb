/**
 * "Organization" is the older name of a group. It is translated here, where a request enters and where an error leaves: the
 * paths `/v1/organizations…`, `organizationID` in bodies, `organization_not_found` and the word in messages. The claim
 * `organization_id` is read in `auth/client-claims.ts`.
 */
import type { ErrorCode, ValidationErrors } from '@rollcall/protocol';
import type { ServiceError } from '../core/service-error.ts';

/** The name that a request uses for a group. */
export type GroupNoun = 'group' | 'organization';

const GROUPS_PATH = '/v1/groups';
const ORGANIZATIONS_PATH = '/v1/organizations';

/** The path of an operation under the older name; null where it has none. */
export const olderPath = (path: string): string | null =>
  path.startsWith(GROUPS_PATH) ? ORGANIZATIONS_PATH + path.slice(GROUPS_PATH.length) : null;

/** The paths of an operation, each with the name that it uses for a group. */
export function namedPaths(path: string): readonly { readonly path: string; readonly noun: GroupNoun }[] {
  const older = olderPath(path);
  const named = { path, noun: 'group' } as const;
  return older === null ? [named] : [named, { path: older, noun: 'organization' }];
}

/** A body that names a group under either name. */
type NamesGroup = { groupID?: unknown; readonly organizationID?: unknown };

/** The name that a checked body uses. */
export const nounOfBody = ({ organizationID }: NamesGroup): GroupNoun =>
  organizationID === undefined ? 'group' : 'organization';

/** The name that a client token uses. */
export const nounOfToken = ({ usesOlderName }: { readonly usesOlderName: boolean }): GroupNoun =>
  usesOlderName ? 'organization' : 'group';

/** A presence update under the older name, in the API description. */
export const OLDER_NAME_EXAMPLE = {
  organization: {
    summary: 'The older name of groupID',
    value: { organizationID: 'analysts', location: { page: 'q3-report' } },
  },
};

export const OLDER_NAME_ERROR = {
  organization_not_found: 'The same, where the request names it as `organizationID`.',
};

/** Copies `organizationID` to `groupID`, and returns the name that the body uses. Takes values of any type. */
export function readGroupId(write: NamesGroup, errors: ValidationErrors): GroupNoun {
  const noun = nounOfBody(write);
  if (noun === 'group') return noun;
  if (write.groupID === undefined) write.groupID = write.organizationID;
  else errors.invalid.add('organizationID', 'either groupID or its older name organizationID, not both');
  return noun;
}

/** The code of an error in the caller's words. */
export const codeInWordsOf = (noun: GroupNoun, code: ErrorCode): ErrorCode =>
  noun === 'organization' && code === 'group_not_found' ? 'organization_not_found' : code;

/** The error in the caller's words. */
export function inWordsOf(noun: GroupNoun, error: ServiceError): Pick<ServiceError, 'code' | 'message'> {
  const { code, message, groupWordAt } = error;
  if (noun === 'group' || groupWordAt === null) return error;
  return {
    code: codeInWordsOf(noun, code),
    message: message.slice(0, groupWordAt) + noun + message.slice(groupWordAt + 'group'.length),
  };
}
