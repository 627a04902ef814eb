import type { DurablePresenceUpdate } from '../../../src/store/ports/durable-presence.ts';
import type { TransferRecord } from '../../../src/store/transfer-records.ts';
import { Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export interface ImportedPresence extends DurablePresenceUpdate {
  readonly at: number;
}

/** A project whose durable presence was imported, with any times and any number of locations, in a store of its own. */
export function withImportedPresence(
  lab: StoreLab,
  presence: readonly ImportedPresence[],
  use: (roster: Roster) => Promise<void>,
): Promise<void> {
  return lab.withStore(async (store) => {
    await store.transfer.import(batchesOf(presence));
    const [project] = await store.projects.list(null);
    await use(new Roster(store, project?.key as string));
  });
}

async function* batchesOf(presence: readonly ImportedPresence[]): AsyncGenerator<TransferRecord[]> {
  yield [
    { type: 'customer', id: 'c', secret: 's', name: 'C', created_at: 1 },
    { type: 'project', id: 'p', customer_id: 'c', name: 'P', secret: 's', created_at: 1 },
  ];
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
