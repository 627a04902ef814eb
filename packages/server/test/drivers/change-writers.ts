/** Writers of one project in this process, and what they know of the order of their writes. */
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { ConditionalContext } from '../../src/store/write-context.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { BY_TEST } from '../support/origin.ts';

export interface WriterOptions {
  readonly url: string;
  readonly project: ProjectKey;
  /** Distinguishes the writers of this process. */
  readonly name: string;
  readonly rounds: number;
}

/** Pairs of request IDs: the changes of the first one stand before those of the second one. */
export type Orders = readonly (readonly [earlier: string, later: string])[];

/** Users of a batch with several rows. */
const BATCHED = 1_100;
const WRITERS = 6;

const contextOf = (requestId: string, more = {}): ConditionalContext => ({
  now: 1,
  revision: requestId,
  ...BY_TEST,
  requestId,
  ...more,
});

/** Runs several writers at once: single writes, writes of one user that they share, and batches that overlap. */
export async function runWriters({ url, project, name, rounds }: WriterOptions): Promise<Orders> {
  const store = await openPostgresStore({ url });
  const orders: [string, string][] = [];
  const write = async (writer: number) => {
    let last: string | null = null;
    for (let round = 0; round < rounds; round += 1) {
      const id = `${name}-${writer}-${round}`;
      if (writer === 0) await applyBatch(store, project, id);
      else if (writer % 2 === 0) orders.push(await changeShared(store, project, id));
      else await store.users.put(project, `u${writer}`, { name: id }, contextOf(id));
      // What was sent after an answer stands after it.
      if (last !== null) orders.push([last, id]);
      last = id;
    }
  };
  let isDone = false;
  const ordering = (async () => {
    while (!isDone) await store.changes.order([]);
  })();
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  isDone = true;
  await ordering;
  await store.close();
  return orders;
}

async function applyBatch(store: Store, project: ProjectKey, id: string): Promise<void> {
  const users = Array.from({ length: BATCHED }, (_, index) => ({ id: `batched${index}`, name: id }));
  const body = Buffer.from(JSON.stringify({ users }));
  const outcome = await store.batches.apply(project, { body, dryRun: false }, contextOf(id));
  if (outcome.kind !== 'applied') throw new Error(outcome.kind);
}

/** Changes the user whom all writers share; gives the write before it. */
async function changeShared(store: Store, project: ProjectKey, id: string): Promise<[string, string]> {
  for (;;) {
    const before = (await store.users.find(project, 'shared'))?.revision as string;
    const context = contextOf(id, { ifMatch: [before] });
    const { kind } = await store.users.put(project, 'shared', { name: id }, context);
    if (kind === 'updated') return [before, id];
  }
}
