/**
 * The types of requests and responses, inferred from the schemas with which the server validates requests. Types only.
 * The build expands them, so that the published package depends on no other.
 */
import type * as protocol from '@rollcall/protocol';

export type {
  ArrivedEvent,
  Batch,
  BranchNode,
  ChangeCounts,
  ChangeList,
  ContentNode,
  DataEvent,
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
  Message,
  MessageAppend,
  MessageCreation,
  MessageWrite,
  NotificationChannels,
  PreferenceWrite,
  PresenceEntry,
  ProjectWrite,
  RecordedChange,
  RejectedPresenceUpdate,
  SecretRotation,
  SnapshotEvent,
  Status,
  TextNode,
  Thread,
  ThreadCreation,
  ThreadSeen,
  ThreadWrite,
  User,
  UserEvent,
  UserItem,
  UserWrite,
  Viewer,
  Webhook,
  WebhookAttempt,
  WebhookReplay,
  WebhookWrite,
} from '@rollcall/protocol';

/** Conditional types: the compiler expands them in the published declarations. */
type Without<T, Name extends PropertyKey> = T extends infer Body
  ? { [Key in keyof Body as Exclude<Key, Name>]: Body[Key] }
  : never;
type WithGroup<T> = Without<T, 'organizationID' | 'groupID'> & { groupID: string };
type Field<T, Name extends keyof T> = T[Name];
type Entry<T> = T extends readonly (infer Item)[] ? Item : never;

/** A presence update of one user. */
export type PresenceWrite = WithGroup<protocol.PresenceWrite>;
/** One update of many. */
export type PresenceUpdate = WithGroup<protocol.PresenceUpdate>;
/** The result of many updates: how many were applied, and which were rejected and why. */
export type PresenceUpdatesDone = protocol.Static<typeof protocol.PresenceUpdatesDone>;
/** A presence update of the viewer; `groupID` is optional when the token names a group. */
export type ViewerPresenceWrite = Without<protocol.ClientPresenceWrite, 'organizationID'>;
/** How many users are present. */
export type PresenceCount = protocol.Static<typeof protocol.PresenceCount>;
/** The response of every write. */
export type Done = protocol.Static<typeof protocol.Done>;
export type BatchDone = protocol.Static<typeof protocol.BatchDone>;
/** An entry of the list of groups: a group without its members. */
export type GroupEntry = protocol.Static<typeof protocol.GroupEntry>;
/** An entry of the list of a user's groups. */
export type UserGroup = Entry<Field<protocol.Static<typeof protocol.UserGroupList>, 'groups'>>;
/** One preference of a user, by its key. */
export type Preference = Entry<protocol.Static<typeof protocol.PreferenceList>>;
export type Project = protocol.Static<typeof protocol.Project>;
/** The only response that contains the project's secret. */
export type ProjectCreated = protocol.Static<typeof protocol.ProjectCreated>;
export type SecretRotated = protocol.Static<typeof protocol.SecretRotated>;
/** A webhook, how many changes wait, and the newest attempt. */
export type WebhookDetails = protocol.Static<typeof protocol.WebhookDetails>;
/** The response to the creation of a webhook, with its secret. */
export type WebhookCreated = protocol.Static<typeof protocol.WebhookCreated>;
export type WebhookSecret = protocol.Static<typeof protocol.WebhookSecret>;
/** The body of a delivery, which the server sends to a webhook. */
export type WebhookDelivery = protocol.WebhookDelivery;
export type Authorized = protocol.Static<typeof protocol.Authorized>;
/** The response of a creation whose ID can be made by the server. */
export type Created = protocol.Static<typeof protocol.Created>;
/** The response of an append: `length` is that of the whole text, in code points. */
export type Appended = protocol.Static<typeof protocol.Appended>;
/** A thread as a page reads it: `unread` counts the messages of others that the viewer has not seen. */
export type ViewerThread = protocol.ClientThread;
export type ViewerThreadCreation = protocol.ClientThreadCreation;
export type ViewerThreadWrite = protocol.ClientThreadWrite;
/** A message to create as the viewer. */
export type ViewerMessageCreation = protocol.ClientMessageCreation;
/** A change of one of the viewer's own messages. */
export type ViewerMessageWrite = protocol.ClientMessageWrite;
