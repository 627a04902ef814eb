import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import type { PresenceScope, PresenceStore, PresentUsers } from '../../presence/presence-store.ts';
import type { Store } from '../../store/store.ts';
import type { GroupView } from './group-view.ts';
import { presentableOf } from './presentable.ts';

const PAGE_USERS = 1_000;

interface Parts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly clock: Clock;
}

/**
 * Reads a group that is being watched into an empty view, page by page, and returns the greatest offset at which a page was
 * read. The view is right when all events up to that offset have been applied to it. An event that a page has already
 * changes nothing: the page has the result of the last event of a location.
 */
export async function readView(
  { store, presence, clock }: Parts,
  scope: PresenceScope,
  view: GroupView,
): Promise<number> {
  let readTo = 0;
  for (let after: string | null = null; ; ) {
    const { users, next, offset }: PresentUsers = await presence.find({
      ...scope,
      filter: null,
      after,
      limit: PAGE_USERS,
      now: clock.now(),
    });
    const ids = users.map(({ userId }) => userId);
    const visible = await presentableOf(store, scope, ids);
    for (const user of users) view.add(user, visible.get(user.userId) === user.incarnation);
    readTo = Math.max(readTo, offset);
    if (next === null) return readTo;
    after = next;
    // The embedded engine answers within the tick.
    await nextIteration();
  }
}
