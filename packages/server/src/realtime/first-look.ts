import { compareCodePoints } from '@rollcall/protocol';
import type { Clock } from '../core/clock.ts';
import type { PresenceScope, PresenceStore } from '../presence/presence-store.ts';
import type { Store } from '../store/store.ts';
import type { GroupView } from './group-view.ts';
import { presentableOf } from './presentable.ts';

const PAGE_USERS = 1_000;

interface Parts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly clock: Clock;
}

interface Page {
  /** The last user whom the page is about; null where it is about all who come after the page before. */
  readonly last: string | null;
  readonly offset: number;
}

/**
 * Everybody in a group as they were read, page by page: of each user, all that happened up to the offset of their page.
 */
export class FirstLook {
  readonly #pages: Page[] = [];

  /** Reads everybody into an empty view. The group is watched already. */
  static async read(
    { store, presence, clock }: Parts,
    scope: PresenceScope,
    view: GroupView,
  ): Promise<FirstLook> {
    const look = new FirstLook();
    for (let after: string | null = null, isLast = false; !isLast; ) {
      const { users, offset } = await presence.snapshot({
        ...scope,
        after,
        limit: PAGE_USERS,
        now: clock.now(),
      });
      const ids = users.map(({ userId }) => userId);
      const visible = await presentableOf(store, scope, ids);
      for (const { userId, locations } of users) view.learn(userId, locations, visible.has(userId));
      isLast = users.length < PAGE_USERS;
      after = ids.at(-1) ?? null;
      look.#pages.push({ last: isLast ? null : after, offset });
    }
    return look;
  }

  /** The greatest offset of the pages. */
  get to(): number {
    return Math.max(...this.#pages.map(({ offset }) => offset));
  }

  /** Whether the event with this offset had happened when the user was read. */
  knows(userId: string, offset: number): boolean {
    const page = this.#pages.find(
      ({ last }) => last === null || compareCodePoints(userId, last) <= 0,
    ) as Page;
    return offset <= page.offset;
  }
}
