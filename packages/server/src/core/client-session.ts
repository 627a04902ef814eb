import type { ClientPresenceWrite, Static, UserGroupList } from '@rollcall/protocol';
import type { Page, PageRequest, Store, UserRecord } from '../store/store.ts';
import type { ClientCaller, GroupName } from './caller.ts';
import { ClientLogins } from './client-logins.ts';
import { justBefore } from './just-before.ts';
import type { PresenceService } from './presence-service.ts';
import { groupNotFound, userNotFound } from './refusals.ts';
import { ServiceError } from './service-error.ts';
import type { UserService } from './user-service.ts';

interface Parts {
  readonly store: Store;
  readonly users: UserService;
  readonly presence: PresenceService;
}

/**
 * What a browser may do with its token: act as its user, in the groups that both the user and the token are of. The
 * store is asked each time (of presence updates see `recent-standings.ts`), so that whoever is set deleted or leaves a
 * group is out with the next request.
 */
export class ClientSessions {
  readonly #store: Store;
  readonly #users: UserService;
  readonly #presence: PresenceService;
  readonly #logins: ClientLogins;

  constructor(parts: Parts) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#presence = parts.presence;
    this.#logins = new ClientLogins(parts);
  }

  /** The token's user. @throws ServiceError like {@link enter}, where the token names a group */
  async user(caller: ClientCaller): Promise<UserRecord> {
    const { project, userId, group } = caller;
    if (group !== null) await this.enter(caller, null);
    else await this.#logins.apply(caller);
    const user = await this.#store.findUser(project, userId);
    requireUser(userId, user?.status ?? null);
    return user as UserRecord;
  }

  /** The active groups in which the caller may act, as `{id, name}`. */
  async listGroups({ project, userId, group }: ClientCaller, page: PageRequest): Promise<Page> {
    const start = group === null ? page : { after: justBefore(group.id), limit: 1 };
    const { items, count, last } = await this.#users.listGroups(project, userId, start);
    const open = (JSON.parse(`[${items}]`) as UserGroup[]).filter(
      ({ id, status }) => status === 'active' && (group === null || id === group.id),
    );
    const shown = open.map(({ id, name }) => JSON.stringify({ id, name })).join(',');
    return { items: shown, count, last: group === null ? last : null };
  }

  /**
   * The group in which the caller acts: the one asked for, or the token's where none is. `asked` is null only where the
   * token names a group.
   * @throws ServiceError `user_not_found`; `group_not_found` when the group is not active, or not one of the caller's
   */
  async enter(caller: ClientCaller, asked: GroupName | null): Promise<GroupName> {
    const group = groupOf(caller, asked);
    await this.#logins.apply(caller);
    const { userId } = caller;
    const standing = await this.#store.standing(caller.project, group.id, userId);
    requireUser(userId, standing.user);
    // Which other groups there are is not for browsers to find out: no group and somebody else's read the same.
    if (standing.incarnation === null) throw groupNotFound(group.noun, group.id, `has no member ${userId}`);
    if (standing.group !== 'active') throw groupNotFound(group.noun, group.id, 'is deleted');
    return group;
  }

  /** Sets the caller's user present or absent. @throws ServiceError like {@link enter} */
  async putPresence(caller: ClientCaller, write: ClientPresenceWrite): Promise<void> {
    const group = groupOf(caller, groupOfWrite(write));
    await this.#logins.apply(caller);
    const { groupID: _group, organizationID: _organization, ...place } = write;
    const key = group.noun === 'group' ? 'groupID' : 'organizationID';
    try {
      await this.#presence.put(caller.project, caller.userId, { ...place, [key]: group.id });
    } catch (error) {
      // The update asked for the standing already; a browser is told in other words why it may not.
      if (error instanceof ServiceError) await this.enter(caller, group);
      throw error;
    }
  }
}

function groupOfWrite({ groupID, organizationID }: ClientPresenceWrite): GroupName | null {
  if (groupID !== undefined) return { noun: 'group', id: groupID };
  return organizationID === undefined ? null : { noun: 'organization', id: organizationID };
}

function groupOf({ group }: ClientCaller, asked: GroupName | null): GroupName {
  const chosen = asked ?? group;
  if (chosen === null) throw new Error('no group is asked for, and the token names none');
  if (group !== null && group.id !== chosen.id) {
    throw groupNotFound(chosen.noun, chosen.id, `is not the ${group.noun} that the token opens`);
  }
  return chosen;
}

function requireUser(userId: string, status: UserRecord['status'] | null): void {
  if (status === null) throw userNotFound(userId);
  if (status === 'deleted') throw userNotFound(userId, 'is deleted');
}

type UserGroup = Static<typeof UserGroupList>['groups'][number];
