import { compareCodePoints } from '@rollcall/protocol';
import type { DurableLocations } from './durable-locations.ts';
import type { GroupView } from './group-view.ts';

/**
 * The users of a group in order of ID, for the snapshots of all of its filters: sorted when one is asked for after a user
 * was added or removed. Costs 8 bytes for each user.
 */
export class UserOrder {
  #view: GroupView | null = null;
  #versions = '';
  #userIds: readonly string[] = [];

  of(view: GroupView, durable: DurableLocations): readonly string[] {
    const versions = `${view.version} ${durable.version}`;
    if (view !== this.#view || versions !== this.#versions) {
      this.#userIds = [...new Set([...view.userIds(), ...durable.userIds()])].sort(compareCodePoints);
      this.#view = view;
      this.#versions = versions;
    }
    return this.#userIds;
  }
}
