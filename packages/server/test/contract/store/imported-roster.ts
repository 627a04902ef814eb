import type { DurablePresenceUpdate } from '../../../src/store/ports/durable-presence.ts';
import type { Store } from '../../../src/store/store.ts';
import type { RecordOf, TransferRecord } from '../../../src/store/transfer-records.ts';
import type { ProjectKey } from '../../../src/values/project-key.ts';
import { Conversation } from './conversation.ts';
import { Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export interface ImportedPresence extends DurablePresenceUpdate {
  readonly at: number;
}

/** A project whose durable presence was imported, with any times and any number of locations, in a store of its own. */
export const withImportedPresence = (
  lab: StoreLab,
  presence: readonly ImportedPresence[],
  use: (roster: Roster) => Promise<void>,
): Promise<void> => withImported(lab, rosterOf(presence), (store, key) => use(new Roster(store, key)));

type ImportedThread = Pick<RecordOf<'thread'>, 'id' | 'location' | 'created_at' | 'resolved_at'>;

/** A project whose threads of the group `g` were imported: many are there sooner than by a write of each. */
export const withImportedThreads = (
  lab: StoreLab,
  threads: readonly ImportedThread[],
  use: (conversation: Conversation) => Promise<void>,
): Promise<void> => withImported(lab, recordsOf(threads), (store, key) => use(new Conversation(store, key)));

function withImported(
  lab: StoreLab,
  records: Iterable<TransferRecord[]>,
  use: (store: Store, key: ProjectKey) => Promise<void>,
): Promise<void> {
  const project = {
    type: 'project',
    id: 'p',
    customer_id: 'c',
    name: 'P',
    secret: 's',
    created_at: 1,
  } as const;
  return lab.withStore(async (store) => {
    const batches = async function* () {
      yield [{ type: 'customer', id: 'c', secret: 's', name: 'C', created_at: 1 } as const, project];
      yield* records;
    };
    await store.transfer.import(batches());
    const [imported] = await store.projects.list(null);
    await use(store, imported?.key as string);
  });
}

function* recordsOf(threads: readonly ImportedThread[]): Generator<TransferRecord[]> {
  yield [{ type: 'group', project: 'p', id: 'g', name: 'g', revision: 'r' }];
  for (let start = 0; start < threads.length; start += 1_000)
    yield threads.slice(start, start + 1_000).map((thread) => ({
      ...({ type: 'thread', project: 'p', group: 'g', name: thread.id, revision: 'r' } as const),
      ...thread,
    }));
}

function* rosterOf(presence: readonly ImportedPresence[]): Generator<TransferRecord[]> {
  const groups = Map.groupBy(presence, ({ groupId }) => groupId);
  const users = new Set(presence.map(({ userId }) => userId));
  const times = { created_at: 1, updated_at: 1, revision: 'r' };
  yield Array.from(users, (id) => ({ type: 'user', project: 'p', id, ...times }));
  yield Array.from(groups.keys(), (id) => ({ type: 'group', project: 'p', id, name: id, revision: 'r' }));
  yield Array.from(groups, ([group, own]) => {
    const members = new Set(own.map(({ userId }) => userId));
    return { type: 'members', project: 'p', group, users: [...members] };
  });
  for (let start = 0; start < presence.length; start += 1_000)
    yield presence.slice(start, start + 1_000).map(({ groupId, userId, region, location, at }) => ({
      ...({ type: 'durable_presence', project: 'p', group: groupId, user: userId } as const),
      ...{ region: JSON.parse(region), location: JSON.parse(location), updated_at: at },
    }));
}
