/** What goes out on the wire: one presenter per resource, writing JSON text around the texts that the store keeps. */
import type { NotificationChannels } from '@rollcall/protocol';
import type { Presence } from '../core/presence-reading.ts';
import type { UpdatesApplied } from '../core/presence-updates.ts';
import type { NewProject, NewSecret, ProjectSummary } from '../core/project-service.ts';
import type { IssuedToken } from '../core/token-service.ts';
import type { GroupRecord, UserRecord } from '../store/store.ts';

const text = JSON.stringify as (value: string | null) => string;
const time = (milliseconds: number) => new Date(milliseconds).toISOString();

/** A group around its members, which may be long: what comes before them, and after. */
export const groupBeforeMembers = ({ id, name, status }: GroupRecord) =>
  `{"id":${text(id)},"name":${text(name)},"status":"${status}","members":`;

export const groupAfterMembers = ({ metadata, connectedToMessenger }: GroupRecord) =>
  `,"metadata":${metadata},"connectedToMessenger":${connectedToMessenger}}`;

export const presentUser = (user: UserRecord) =>
  `{"id":${text(user.id)},"name":${text(user.name)},"short_name":${text(user.shortName)},` +
  `"email":${text(user.email)},"profile_picture_url":${text(user.profilePictureUrl)},` +
  `"status":"${user.status}","metadata":${user.metadata},` +
  `"created_at":"${time(user.createdAt)}","updated_at":"${time(user.updatedAt)}"}`;

export const presentPreferences = ({ sendViaMessenger, sendViaEmail }: Required<NotificationChannels>) =>
  `[{"notification_channels":{"sendViaMessenger":${sendViaMessenger},"sendViaEmail":${sendViaEmail}}}]`;

export function presentPresence({ userId, locations, durable }: Presence): string {
  const latest =
    durable === null ? '' : `,"durable":{"location":${durable.location},"timestamp":"${time(durable.at)}"}`;
  return `{"id":${text(userId)},"ephemeral":{"locations":[${locations.join(',')}]}${latest}}`;
}

export function presentUpdatesApplied({ updated, refused }: UpdatesApplied): string {
  const message = `updated presence ${times(updated)}, refused ${times(refused.length)}`;
  return JSON.stringify({ success: true, message, updated, refused });
}

const times = (count: number) => `${count} time${count === 1 ? '' : 's'}`;

/** The end of a page: where to go on, and how much there is in all. */
export const presentPagination = (token: string | null, total: number) =>
  `{"token":${text(token)},"total":${total}}`;

export const presentProject = ({ id, name, createdAt }: ProjectSummary) =>
  `{"id":${text(id)},"name":${text(name)},"created_at":"${time(createdAt)}"}`;

export const presentNewProject = ({ id, secret, name, createdAt }: NewProject) =>
  `{"id":${text(id)},"secret":${text(secret)},"name":${text(name)},"created_at":"${time(createdAt)}"}`;

export const presentNewSecret = ({ secret, previousValidUntil }: NewSecret) =>
  `{"secret":${text(secret)},"previous_valid_until":"${time(previousValidUntil)}"}`;

export const presentIssuedToken = ({ accessToken, expires }: IssuedToken) =>
  `{"access_token":${text(accessToken)},"expires":"${time(expires)}"}`;
