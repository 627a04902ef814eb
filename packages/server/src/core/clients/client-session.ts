import type { Static, UserGroupList } from '@rollcall/protocol';
import type { UserRecord } from '../../store/ports/users.ts';
import type { Store } from '../../store/store.ts';
import type { Page, PageRequest } from '../../values/page.ts';
import type { ClientCaller, ClientWriter } from '../caller.ts';
import { groupNotFound, userError } from '../errors.ts';
import { justBefore } from '../just-before.ts';
import type { PresenceChange } from '../presence/presence-change.ts';
import type { PresenceHolder, PresenceService } from '../presence/presence-service.ts';
import type { UserService } from '../roster/user-service.ts';
import { clientAccessError } from './client-access.ts';
import { ClientLogins } from './client-logins.ts';

interface Parts {
  readonly store: Pick<Store, 'users' | 'eligibility'>;
  readonly users: UserService;
  readonly presence: PresenceService;
}

/**
 * The rights of a browser's token: to act as its user, in the groups of both the user and the token. The store is read
 * each time (for presence updates see `eligibility-cache.ts`), so a user who is set deleted or leaves a group is rejected at
 * the next request.
 */
export class ClientSessions {
  readonly #parts: Parts;
  readonly #logins: ClientLogins;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#logins = new ClientLogins(parts);
  }

  /** The token's user. @throws ServiceError like {@link enter}, where the token names a group */
  async user(caller: ClientWriter): Promise<UserRecord> {
    const { project, userId, group } = caller;
    if (group !== null) await this.enter(caller, null);
    else await this.#logins.apply(caller);
    const user = await this.#parts.store.users.find(project, userId);
    const error = userError(userId, user?.status ?? null);
    if (error !== null) throw error;
    return user as UserRecord;
  }

  /** The active groups in which the caller may act, as `{id, name}`. */
  async listGroups({ project, userId, group }: ClientCaller, page: PageRequest): Promise<Page> {
    const start = group === null ? page : { after: justBefore(group), limit: 1 };
    const { items, count, last } = await this.#parts.users.listGroups(project, userId, start);
    const open = (JSON.parse(`[${items}]`) as UserGroup[]).filter(
      ({ id, status }) => status === 'active' && (group === null || id === group),
    );
    const shown = open.map(({ id, name }) => JSON.stringify({ id, name })).join(',');
    return { items: shown, count, last: group === null ? last : null };
  }

  /**
   * The ID of the group in which the caller acts: the requested one, or the token's. `requested` is null only where the token
   * names a group.
   * @throws ServiceError `user_not_found`; `group_not_found` when the group is not active, or not one of the caller's
   */
  async enter(caller: ClientWriter, requested: string | null): Promise<string> {
    const groupId = (requested ?? caller.group) as string;
    if (!opens(caller, groupId)) return this.#rejectGroup(caller, groupId);
    await this.#logins.apply(caller);
    const { userId } = caller;
    const eligibility = await this.#parts.store.eligibility.find(caller.project, groupId, userId);
    const error = clientAccessError(eligibility, groupId, userId);
    if (error !== null) throw error;
    return groupId;
  }

  /** Sets the caller's user present or absent. @throws ServiceError like {@link enter} */
  putPresence(
    caller: ClientWriter,
    change: PresenceChange,
    holder: PresenceHolder | null = null,
  ): Promise<void> {
    if (!opens(caller, change.groupId)) return this.#rejectGroup(caller, change.groupId);
    const put = () => this.#parts.presence.put(caller, caller.userId, change, holder, clientAccessError);
    return caller.details === null ? put() : this.#logins.apply(caller).then(put);
  }

  /** The user is checked first, as where the token opens the group. */
  async #rejectGroup(caller: ClientWriter, groupId: string): Promise<never> {
    await this.user({ ...caller, group: null });
    throw groupNotFound(groupId, 'is not the one that the token opens');
  }
}

/** Whether the token is for this group, or for all of the user's. */
const opens = ({ group }: ClientCaller, groupId: string) => group === null || group === groupId;

type UserGroup = Static<typeof UserGroupList>['groups'][number];
