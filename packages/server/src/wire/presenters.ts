/** The JSON text of each resource, written around the JSON texts of the store. */
import type { ChangeCounts, NotificationChannels, RejectedPresenceUpdate } from '@rollcall/protocol';
import type { GroupRecord } from '../store/ports/groups.ts';
import type { ProjectRecord } from '../store/ports/projects.ts';
import type { UserRecord } from '../store/ports/users.ts';
import type { Json } from '../values/json.ts';
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
  readonly user?: Json;
}

const text = JSON.stringify as (value: string | null) => string;

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

export const presentPreferences = ({ sendViaMessenger, sendViaEmail }: Required<NotificationChannels>) =>
  `[{"notification_channels":{"sendViaMessenger":${sendViaMessenger},"sendViaEmail":${sendViaEmail}}}]`;

export function presentPresence({ userId, locations, data, durable, user }: PresenceEntry): string {
  const latest =
    durable === null
      ? ''
      : `,"durable":{"location":${durable.location},"timestamp":"${timestamp(durable.at)}"}`;
  // An array writes null as nothing.
  const beside = data === undefined ? '' : `,"data":[${data.map((one) => one ?? 'null').join(',')}]`;
  const profile = user === undefined ? '' : `,"user":${user}`;
  return `{"id":${text(userId)},"ephemeral":{"locations":[${locations.join(',')}]${beside}}${latest}${profile}}`;
}

export function presentUpdatesApplied(updated: number, refused: readonly RejectedPresenceUpdate[]): string {
  const message = `updated presence ${counted(updated, 'time')}, refused ${counted(refused.length, 'time')}`;
  return JSON.stringify({ success: true, message, updated, refused });
}

type BatchCounts = Readonly<Record<'users' | 'groups', ChangeCounts>>;

export function presentBatch({ users, groups }: BatchCounts, dryRun: boolean): string {
  const counts = `${counted(total(users), 'user')} and ${counted(total(groups), 'group')}`;
  const message = dryRun ? `batch would update ${counts}` : `batch updated ${counts}`;
  return JSON.stringify({ success: true, message, users, groups });
}

const total = ({ created, updated, unchanged }: ChangeCounts) => created + updated + unchanged;

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `token` leads to the next page; `total` counts the whole list. */
export const presentPagination = (token: string | null, total: number) =>
  `{"token":${text(token)},"total":${total}}`;

type Project = Pick<ProjectRecord, 'id' | 'name' | 'createdAt'>;

export const presentProject = ({ id, name, createdAt }: Project) =>
  `{"id":${text(id)},"name":${text(name)},"created_at":"${timestamp(createdAt)}"}`;

export const presentNewProject = ({ id, secret, name, createdAt }: Project & Pick<ProjectRecord, 'secret'>) =>
  `{"id":${text(id)},"secret":${text(secret)},"name":${text(name)},"created_at":"${timestamp(createdAt)}"}`;

interface NewSecret {
  readonly secret: string;
  readonly previousValidUntil: number;
}

export const presentNewSecret = ({ secret, previousValidUntil }: NewSecret) =>
  `{"secret":${text(secret)},"previous_valid_until":"${timestamp(previousValidUntil)}"}`;

interface IssuedToken {
  readonly accessToken: string;
  readonly expires: number;
}

export const presentIssuedToken = ({ accessToken, expires }: IssuedToken) =>
  `{"access_token":${text(accessToken)},"expires":"${timestamp(expires)}"}`;
