/**
 * The types of the wire, from the schemas that the server checks requests with. Types only: what the client is at run
 * time stands in this package. The build writes them out one by one, so that the published package needs no other.
 */
import type * as protocol from '@rollcall/protocol';

export type {
  ArrivedEvent,
  Batch,
  ChangeCounts,
  DepartedEvent,
  DepartureReason,
  DurableEvent,
  ErrorCode,
  Group,
  GroupCreation,
  GroupItem,
  GroupWrite,
  Location,
  Member,
  MembersChange,
  NotificationChannels,
  PreferenceWrite,
  PresenceEntry,
  PresenceRefusal,
  ProjectWrite,
  SecretRotation,
  SnapshotEvent,
  Status,
  User,
  UserItem,
  UserWrite,
  Viewer,
} from '@rollcall/protocol';

type Without<T, Name extends PropertyKey> = { [Key in keyof T as Exclude<Key, Name>]: T[Key] };
type Field<T, Name extends keyof T> = T[Name];
type Entry<T> = T extends readonly (infer Item)[] ? Item : never;

/** A presence update of one user. */
export type PresenceWrite = Without<protocol.PresenceWrite, 'organizationID' | 'groupID'> & {
  groupID: string;
};
/** One update of many. */
export type PresenceUpdate = Without<protocol.PresenceUpdate, 'organizationID' | 'groupID'> & {
  groupID: string;
};
/** What became of many updates: how many were applied, and which were refused and why. */
export type PresenceUpdatesDone = protocol.Static<typeof protocol.PresenceUpdatesDone>;
/** A presence update of the viewer; `groupID` may be left out where the token names a group. */
export type ViewerPresenceWrite = Without<protocol.ClientPresenceWrite, 'organizationID'>;
/** How many users are present. */
export type PresenceCount = protocol.Static<typeof protocol.PresenceCount>;
/** The answer of every write. */
export type Done = protocol.Static<typeof protocol.Done>;
export type BatchDone = protocol.Static<typeof protocol.BatchDone>;
/** An entry of the list of groups: a group without its members. */
export type GroupEntry = protocol.Static<typeof protocol.GroupEntry>;
/** An entry of the list of a user's groups. */
export type UserGroup = Entry<Field<protocol.Static<typeof protocol.UserGroupList>, 'groups'>>;
/** One preference of a user, by its key. */
export type Preference = Entry<protocol.Static<typeof protocol.PreferenceList>>;
export type Project = protocol.Static<typeof protocol.Project>;
/** The one answer that shows a project's secret. */
export type ProjectCreated = protocol.Static<typeof protocol.ProjectCreated>;
export type SecretRotated = protocol.Static<typeof protocol.SecretRotated>;
export type Authorized = protocol.Static<typeof protocol.Authorized>;
