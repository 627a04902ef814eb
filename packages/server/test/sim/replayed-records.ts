import assert from 'node:assert/strict';
import type { Status } from '@rollcall/protocol';
import type { Store } from '../../src/store/store.ts';
import { unpackIds } from '../../src/store/worker-threads/packed-ids.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { ChangeReplay, type ReplayedChange, type ReplayedState } from '../changes/change-replay.ts';
import { joined } from '../contract/store/entries.ts';
import { recordsAfter } from '../support/recorded.ts';
import { THREADS } from './conversation-steps.ts';
import { GROUPS, USERS } from './steps.ts';

/** The replay of a project's recorded changes, from its beginning on. */
export class ReplayedRecords {
  readonly #replay = new ChangeReplay();
  #position = 0;

  /** The store has imported the one before: its record begins anew. */
  moved(): void {
    this.#position = 0;
  }

  /** Replays what was recorded since the last time, and compares the state with what the store reads. */
  async compare(store: Store, key: ProjectKey): Promise<void> {
    for (const { position, changes } of await recordsAfter(store, key, this.#position)) {
      assert.equal(position, this.#position + 1, 'positions have no gaps');
      this.#position = position;
      for (const change of changes)
        this.#replay.apply(
          'users' in change ? { ...change, users: unpackIds(change.users) } : (change as ReplayedChange),
        );
    }
    assert.deepEqual(this.#replay.state, await readState(store, key), 'a replay gives what the store reads');
  }
}

async function readState(store: Store, key: ProjectKey): Promise<ReplayedState> {
  const users = new Map<string, Status>();
  for (const id of USERS) {
    const user = await store.users.find(key, id);
    if (user !== null) users.set(id, user.status);
  }
  const groups = new Map();
  for (const id of GROUPS) {
    const group = await store.groups.find(key, id);
    if (group === null) continue;
    const members = new Set(JSON.parse(await joined(group.members)));
    groups.set(id, { status: group.status, members, threads: new Map() });
  }
  for (const id of THREADS) {
    const thread = await store.threads.find(key, id, null);
    if (thread === null) continue;
    const { groupId, userMessages, actionMessages, deletedMessages } = thread;
    groups.get(groupId).threads.set(id, userMessages + actionMessages + deletedMessages);
  }
  return { users, groups };
}
