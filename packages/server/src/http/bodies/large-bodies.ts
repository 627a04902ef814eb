/** The bodies that may be larger than what the event loop reads, by name: a thread is given the name of the rules. */
import {
  GroupCreation,
  GroupWrite,
  MembersChange,
  type ObjectSchema,
  PresenceUpdates,
  type ValidationErrors,
} from '@rollcall/protocol';
import { inspectPresence, inspectPresenceUpdates } from '../../core/presence/presence-rules.ts';
import { inspectMembersChange } from '../../core/roster/membership-service.ts';
import { readGroupId } from '../older-names.ts';

export interface BodyRules {
  readonly schema: ObjectSchema;
  /** A check that the schema cannot express. Accepts any object: the schema reports values of a wrong type. */
  readonly rule?: (body: object, errors: ValidationErrors) => void;
}

function checkPresenceUpdates(body: object, errors: ValidationErrors): void {
  inspectPresenceUpdates(body, errors, (update, ofUpdate) => {
    readGroupId(update, ofUpdate);
    inspectPresence(update, ofUpdate);
  });
}

export const LARGE_BODIES = {
  groupWrite: { schema: GroupWrite },
  groupCreation: { schema: GroupCreation },
  membersChange: { schema: MembersChange, rule: inspectMembersChange },
  presenceUpdates: { schema: PresenceUpdates, rule: checkPresenceUpdates },
} as const satisfies Record<string, BodyRules>;

export type LargeBodyName = keyof typeof LARGE_BODIES;
