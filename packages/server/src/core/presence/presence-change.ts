import { canonicalLocation, type PresenceWrite } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';

/** A checked presence update of one user in one group, with its locations in canonical form. */
export interface PresenceChange {
  readonly kind: 'ephemeral' | 'absent' | 'durable';
  readonly groupId: string;
  readonly location: Json;
  /** The user is at one location in it only. */
  readonly region: Json;
  readonly connection?: string;
  /** Null clears the data; without the field they stay. */
  readonly data?: Json | null;
}

/** The fields of a request from which a change is made. They are checked: see `presence-rules.ts`. */
type Write = Pick<
  PresenceWrite,
  'location' | 'exclusiveWithin' | 'durable' | 'absent' | 'connectionID' | 'data'
> & { readonly groupID?: string | undefined };

/** @param group where the request names none: the group that its token names */
export function presenceChange(write: Write, group: string | null = null): PresenceChange {
  const { groupID, exclusiveWithin, durable, absent, connectionID, data } = write;
  const location = canonicalLocation(write.location);
  return {
    kind: durable === true ? 'durable' : absent === true ? 'absent' : 'ephemeral',
    groupId: groupID ?? (group as string),
    location,
    region: exclusiveWithin === undefined ? location : canonicalLocation(exclusiveWithin),
    ...(connectionID !== undefined && { connection: connectionID }),
    ...(data !== undefined && { data: data === null ? null : JSON.stringify(data) }),
  };
}
