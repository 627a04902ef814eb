/** The bodies that may be larger than what the event loop reads, by name: a thread is given the name of the rules. */
import {
  type Findings,
  GroupCreation,
  GroupWrite,
  MembersChange,
  type ObjectSchema,
  PresenceUpdates,
} from '@rollcall/protocol';
import { inspectMembersChange } from '../../core/membership-service.ts';
import { inspectPresenceUpdates } from '../../core/presence-updates.ts';

export interface BodyRules {
  readonly schema: ObjectSchema;
  /** A check that the schema cannot express. Accepts any object: the schema reports values of a wrong type. */
  readonly rule?: (body: object, findings: Findings) => void;
}

export const LARGE_BODIES = {
  groupWrite: { schema: GroupWrite },
  groupCreation: { schema: GroupCreation },
  membersChange: { schema: MembersChange, rule: inspectMembersChange },
  presenceUpdates: { schema: PresenceUpdates, rule: inspectPresenceUpdates },
} as const satisfies Record<string, BodyRules>;

export type LargeBodyName = keyof typeof LARGE_BODIES;
