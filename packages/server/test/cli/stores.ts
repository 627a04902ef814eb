/** Stores that commands read and write: their options, a small store, and all rows of a store. */

import assert from 'node:assert/strict';
import type { Store } from '../../src/store/store.ts';
import { openStore, type StoreSettings } from '../../src/wiring.ts';
import { markdown } from '../contract/store/conversation.ts';
import { closing } from '../support/closing.ts';
import { BY_TEST, CONTEXT } from '../support/origin.ts';

export const embedded = (dataDir: string): StoreSettings => ({ dataDir, databaseUrl: null });

/** The options of migrate-store that name a store. */
export const flagsOf = (side: 'from' | 'to', { dataDir, databaseUrl }: StoreSettings): string[] =>
  databaseUrl === null ? [`--${side}-data-dir`, dataDir] : [`--${side}-database-url`, databaseUrl];

export async function withOpenStore<Result>(settings: StoreSettings, use: (store: Store) => Promise<Result>) {
  await using store = closing(await openStore(settings));
  return await use(store);
}

/** All rows of a store as sorted texts: drivers have orders of their own, and batches of members too. */
export const exportedBy = (settings: StoreSettings): Promise<string[]> =>
  withOpenStore(settings, async (store) => {
    const records = (await Array.fromAsync(store.transfer.export())).flat();
    const rows = records.flatMap((record): object[] =>
      record.type === 'members' ? record.users.map((user) => ({ ...record, users: user })) : [record],
    );
    return rows.map((record) => JSON.stringify(Object.entries(record).sort())).sort();
  });

/** A store with a customer, a project `p`, a session, a webhook, a user `ann` with preferences, a group, and a message. */
export const makeSmallStore = (settings: StoreSettings): Promise<void> =>
  withOpenStore(settings, async (store) => {
    await store.sessions.serviceKey();
    await store.customers.create({ id: 'c', secret: 'secret of c', name: 'C', createdAt: 1 });
    const project = { id: 'p', customerId: 'c', name: 'P', secret: 'secret of p', createdAt: 1 };
    const made = await store.projects.create(project);
    assert.ok(made.kind === 'created');
    const { key } = made.project;
    await store.sessions.create(key, { id: 's', expiresAt: 1 }, CONTEXT);
    const webhook = {
      url: 'https://receiver.invalid/',
      status: 'paused',
      secret: 'secret of w',
      start: null,
    } as const;
    await store.webhooks.put(key, 'w', webhook, 1, CONTEXT);
    await store.users.put(key, 'ann', {}, { now: 1, revision: 'r', ...BY_TEST });
    await store.preferences.put(key, 'ann', { sendViaEmail: false }, CONTEXT);
    await store.groups.put(key, 'g', { name: 'G', members: ['ann'] }, CONTEXT);
    const message = { authorId: 'ann', content: markdown('text'), createThread: { groupId: 'g', name: 'T' } };
    assert.equal((await store.messages.put(key, 't', 'm', message, CONTEXT)).kind, 'created');
  });

/** What a transfer of the small store counts. */
export const SMALL_COUNTS = {
  ...{ service_keys: 1, customers: 1, projects: 1, sessions: 1, webhooks: 1, users: 1, groups: 1 },
  ...{ memberships: 1, durable_presence: 0, threads: 1, participants: 1, messages: 1 },
};

/** `customer: project, project`, of each customer. */
export async function ownersOf(store: Store): Promise<string[]> {
  const customers = await store.customers.list();
  const lines = customers.map(async ({ id }) => {
    const projects = await store.projects.list(id);
    return `${id}: ${projects.map((project) => project.id).join(', ')}`;
  });
  return Promise.all(lines);
}
