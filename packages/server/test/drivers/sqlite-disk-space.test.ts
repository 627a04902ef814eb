/** The disk space of the embedded store after deletions. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DURABLE_BOUNDS } from '../../src/store/durable-bounds.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { sqliteWrites } from '../../src/store/sqlite/sqlite-ports.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { Conversation, plain } from '../contract/store/conversation.ts';
import { newRoster, numbered } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { CONTEXT } from '../support/origin.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MESSAGES = 4_000;
/** More than the pages of one slice, by much. */
const FREED_BYTES = 12_000_000;
/** Free pages that stay in the file, and what else is in it. */
const REST_BYTES = 6_000_000;

/** A store with group `g`, whose messages take most of its file. */
async function stock(dataDir: string) {
  await using store = closing(await openSqliteStore({ dataDir }));
  const conversation = new Conversation(store, (await newRoster(store)).key);
  await conversation.groupOf('g', 'ann');
  await conversation.groupOf('h', 'ann');
  await conversation.newThread('t');
  await conversation.newThread('other', { groupId: 'h' });
  await conversation.newMessage('other', 'm', { content: plain('stays') });
  await store.close();
  const file = join(dataDir, STORE_FILE);
  const { key } = conversation;
  using connection = new SqliteConnection(file, { readOnly: false });
  const { messages } = sqliteWrites(connection, DURABLE_BOUNDS);
  connection.database.exec('BEGIN');
  for (const id of numbered('m', MESSAGES))
    messages.put(key, 't', id, { authorId: 'ann', content: plain('x'.repeat(3_800)) }, CONTEXT);
  connection.database.exec('COMMIT');
  return { file, key };
}

const pageCount = (database: DatabaseSync) =>
  database.prepare('PRAGMA page_count').get()?.page_count as number;

/** Deletes group `g` and removes what it left; the sizes of the file in pages after each slice. */
function purgeGroup({ file, key }: Awaited<ReturnType<typeof stock>>): number[] {
  using connection = new SqliteConnection(file, { readOnly: false });
  const { groups, purge } = sqliteWrites(connection, DURABLE_BOUNDS);
  assert.equal(groups.delete(key, 'g', CONTEXT).kind, 'deleted');
  const sizes = [pageCount(connection.database)];
  while (purge.run()) sizes.push(pageCount(connection.database));
  const [check] = connection.prepare('PRAGMA integrity_check').all();
  assert.deepEqual(check, ['ok']);
  return sizes;
}

const sizeOf = (file: string) => statSync(file).size;

async function assertOtherGroupStays(dataDir: string, { key }: Awaited<ReturnType<typeof stock>>) {
  await using store = closing(await openSqliteStore({ dataDir }));
  const { content } = await new Conversation(store, key).message('other', 'm');
  assert.equal(content, plain('stays').json);
}

test('the disk space of a deleted group is given back in small steps', async () => {
  await using directory = await temporaryDirectory('disk-space');
  const dataDir = directory.path;
  const stocked = await stock(dataDir);
  const before = sizeOf(stocked.file);
  const sizes = purgeGroup(stocked);
  const steps = sizes.slice(1).map((size, index) => (sizes[index] as number) - size);
  assert.ok(Math.max(...steps) <= 210, `a slice gave back ${Math.max(...steps)} pages`);
  assert.ok(before - sizeOf(stocked.file) > FREED_BYTES, `${before} bytes became ${sizeOf(stocked.file)}`);
  assert.ok(sizeOf(stocked.file) < REST_BYTES, `${sizeOf(stocked.file)} bytes are left`);
  await assertOtherGroupStays(dataDir, stocked);
});

test('the file of a store of an earlier version gives disk space back after a VACUUM, and is purged before it', async () => {
  await using directory = await temporaryDirectory('disk-space');
  const dataDir = directory.path;
  const stocked = await stock(dataDir);
  const database = new DatabaseSync(stocked.file);
  database.exec('PRAGMA auto_vacuum = NONE; VACUUM');
  database.close();
  const before = sizeOf(stocked.file);
  purgeGroup(stocked);
  assert.equal(sizeOf(stocked.file), before);
  const again = new DatabaseSync(stocked.file);
  again.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM');
  assert.equal(again.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum, 2);
  again.close();
  assert.ok(sizeOf(stocked.file) < REST_BYTES);
  await assertOtherGroupStays(dataDir, stocked);
});
