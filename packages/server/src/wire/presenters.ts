/** The JSON text of each resource, written around the JSON texts of the store. */
import type { ChangeCounts, NotificationChannels, RejectedPresenceUpdate } from '@rollcall/protocol';
import type { GroupRecord } from '../store/ports/groups.ts';
import type { NewSecret, ProjectRecord } from '../store/ports/projects.ts';
import type { Profile, UserRecord } from '../store/ports/users.ts';
import type { Json } from '../values/json.ts';
import { appliedHead, text } from './json-answer.ts';
import { timestamp } from './timestamp.ts';

/** Where one user is in one group. */
export interface PresenceEntry {
  readonly userId: string;
  /** In no order. */
  readonly locations: readonly Json[];
  /** The data of each location, where they are shown. */
  readonly data?: readonly (Json | null)[];
  /** The durable location that was set last; null where there is none. */
  readonly durable: { readonly location: Json; readonly at: number } | null;
  /** Name and picture, where they are shown. */
  readonly user?: Profile;
}

/** The text of a group before and after its members, which may be long. */
export const groupBeforeMembers = ({ id, name, status }: GroupRecord) =>
  `{"id":${text(id)},"name":${text(name)},"status":"${status}","members":`;

export const groupAfterMembers = ({ metadata, connectedToMessenger }: GroupRecord) =>
  `,"metadata":${metadata},"connectedToMessenger":${connectedToMessenger}}`;

export const presentUser = (user: UserRecord) =>
  `{"id":${text(user.id)},"name":${text(user.name)},"short_name":${text(user.shortName)},` +
  `"email":${text(user.email)},"profile_picture_url":${text(user.profilePictureUrl)},` +
  `"status":"${user.status}","metadata":${user.metadata},` +
  `"created_at":"${timestamp(user.createdAt)}","updated_at":"${timestamp(user.updatedAt)}"}`;

export const presentProfile = ({ name, profilePictureUrl }: Profile) =>
  `{"name":${text(name)},"profile_picture_url":${text(profilePictureUrl)}}`;

/** The text of a viewer before the groups, and after them. */
export const viewerHead = (user: UserRecord) => `{"user":${presentUser(user)},"groups":[`;
export const VIEWER_TAIL = ']}';

export const presentPreferences = ({ sendViaMessenger, sendViaEmail }: Required<NotificationChannels>) =>
  `[{"notification_channels":{"sendViaMessenger":${sendViaMessenger},"sendViaEmail":${sendViaEmail}}}]`;

export function presentPresence({ userId, locations, data, durable, user }: PresenceEntry): string {
  const latest =
    durable === null
      ? ''
      : `,"durable":{"location":${durable.location},"timestamp":"${timestamp(durable.at)}"}`;
  // An array writes null as nothing.
  const beside = data === undefined ? '' : `,"data":[${data.map((one) => one ?? 'null').join(',')}]`;
  const profile = user === undefined ? '' : `,"user":${presentProfile(user)}`;
  return `{"id":${text(userId)},"ephemeral":{"locations":[${locations.join(',')}]${beside}}${latest}${profile}}`;
}

export function presentUpdatesApplied(updated: number, rejected: readonly RejectedPresenceUpdate[]): string {
  const message = `updated presence ${counted(updated, 'time')}, refused ${counted(rejected.length, 'time')}`;
  return `${appliedHead(message)},"updated":${updated},"refused":${JSON.stringify(rejected)}}`;
}

type BatchCounts = Readonly<Record<'users' | 'groups', ChangeCounts>>;

export function presentBatch({ users, groups }: BatchCounts, dryRun: boolean): string {
  const counts = `${counted(total(users), 'user')} and ${counted(total(groups), 'group')}`;
  const message = dryRun ? `batch would update ${counts}` : `batch updated ${counts}`;
  return `${appliedHead(message)},"users":${JSON.stringify(users)},"groups":${JSON.stringify(groups)}}`;
}

const total = ({ created, updated, unchanged }: ChangeCounts) => created + updated + unchanged;

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

type Project = Pick<ProjectRecord, 'id' | 'name' | 'createdAt'>;

/** The fields of a project, which the command line shows too, and of a customer. */
export const summaryFields = ({ id, name, createdAt }: Project) => ({
  ...{ id, name },
  created_at: timestamp(createdAt),
});

export const presentProject = (project: Project) => JSON.stringify(summaryFields(project));

type NewProject = Project & Pick<ProjectRecord, 'secret'>;

/** The fields of a new project or customer, with the secret, which is shown once. */
export const createdFields = (created: NewProject) => {
  const { id, ...others } = summaryFields(created);
  return { id, secret: created.secret, ...others };
};

export const presentNewProject = (project: NewProject) => JSON.stringify(createdFields(project));

export const newSecretFields = ({ secret, previousValidUntil }: NewSecret) => ({
  secret,
  previous_valid_until: timestamp(previousValidUntil),
});

export const presentNewSecret = (next: NewSecret) => JSON.stringify(newSecretFields(next));

/** `expires` is in milliseconds since the epoch. */
export const presentIssuedToken = (accessToken: string, expires: number) =>
  `{"access_token":${text(accessToken)},"expires":"${timestamp(expires)}"}`;
