/** Threads and messages in the embedded engine: how they are found, what they cost, and how they are purged. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { canonicalLocation, limits } from '@rollcall/protocol';
import { newRevision } from '../../src/core/revision.ts';
import { DURABLE_BOUNDS } from '../../src/store/durable-bounds.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { listKeys } from '../../src/store/sqlite/sqlite-conversation-lists.ts';
import { migrate } from '../../src/store/sqlite/sqlite-migrate.ts';
import { sqliteWrites } from '../../src/store/sqlite/sqlite-ports.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { WORK_MAX } from '../../src/store/thread-page-bounds.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { appended, Conversation, markdown, plain, textOf } from '../contract/store/conversation.ts';
import { newRoster, numbered } from '../contract/store/roster.ts';
import { Random } from '../sim/random.ts';
import { CONTEXT } from '../support/origin.ts';

const TABLES = ['conversations', 'threads', 'thread_lists', 'participants', 'messages', 'message_pieces'];

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-conversation-'));
  try {
    await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** A project of a store in the directory, with group `g` of ann. */
async function withConversation(
  dataDir: string,
  use: (conversation: Conversation) => Promise<void>,
  key?: ProjectKey,
): Promise<ProjectKey> {
  const store = await openSqliteStore({ dataDir });
  try {
    const conversation = new Conversation(store, key ?? (await newRoster(store)).key);
    if (key === undefined) await conversation.groupOf('g', 'ann');
    await use(conversation);
    return conversation.key;
  } finally {
    await store.close();
  }
}

function withFile<Result>(dataDir: string, use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(join(dataDir, STORE_FILE));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** How many rows each table of conversations has. */
const rowsOf = (dataDir: string) =>
  withFile(dataDir, (database) =>
    TABLES.map((table) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n as number),
  );

/** The writes of a store, without the writer's thread: nothing is purged unless the test does so. */
function withWrites(
  dataDir: string,
  use: (writes: ReturnType<typeof sqliteWrites>, database: DatabaseSync) => void,
): void {
  const connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: false });
  try {
    migrate(connection.database);
    use(sqliteWrites(connection, DURABLE_BOUNDS), connection.database);
  } finally {
    connection.close();
  }
}

function inTransaction(database: DatabaseSync, run: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  run();
  database.exec('COMMIT');
}

describe('the lists of threads', () => {
  const SEED = 11;

  test('whatever is done, a thread is in the lists of its group, location and resolution, and in no others', () =>
    withDirectory(async (dataDir) => {
      await withConversation(dataDir, async (c) => {
        const random = new Random(SEED);
        const locations = [null, '{"a":"1"}', '{"a":"1","b":"2"}', '{"b":"2","c":"3"}'] as const;
        await c.groupOf('h', 'ann');
        for (let round = 0; round < 30; round += 1) {
          for (let step = 0; step < 10; step += 1) {
            const id = random.pick(['t1', 't2', 't3', 't4'] as const);
            const write = { location: random.pick(locations), resolved: random.pick([true, false] as const) };
            const ways = [
              () => c.putThread(id, { groupId: random.pick(['g', 'h'] as const), name: id, ...write }),
              () => c.putThread(id, write),
              () => c.putMessage(id, `m${step % 3}`, { authorId: 'ann', content: plain(`${round}`) }),
              () => c.putMessage(id, `m${step % 3}`, { deleted: random.pick([true, false] as const) }),
              () => c.deleteMessage(id, `m${step % 3}`),
              () => c.deleteThread(id),
              () => c.markSeen(id, 'ann'),
            ];
            await random.pick(ways)();
          }
          if (round % 10 === 9) {
            await c.deleteGroup('h');
            await c.groupOf('h', 'ann');
          }
          assert.deepEqual(
            withFile(dataDir, listed),
            withFile(dataDir, derived),
            `seed ${SEED}, round ${round}`,
          );
        }
      });
    }));

  /** The lists of the threads that are found, as they are. */
  const listed = (database: DatabaseSync) =>
    database
      .prepare(
        `SELECT l.* FROM thread_lists l JOIN threads t USING (thread_no) JOIN conversations c USING (conversation_no)
          WHERE c.group_no IS NOT NULL`,
      )
      .all()
      .map((row) => JSON.stringify(Object.values(row)))
      .sort();

  /** The same, as they follow from the threads. */
  const derived = (database: DatabaseSync) =>
    database
      .prepare(
        `SELECT t.* FROM threads t JOIN conversations c USING (conversation_no) WHERE c.group_no IS NOT NULL`,
      )
      .all()
      .flatMap(({ thread_no, project_no, conversation_no, location, resolved_at, created_at, ...thread }) => {
        const keys = listKeys({
          conversationNo: Number(conversation_no),
          location: location === null ? null : String(location),
        });
        const activity = thread.last_message_at ?? created_at;
        return [...keys].map((key) =>
          JSON.stringify([project_no, key, Number(resolved_at !== null), activity, thread_no]),
        );
      })
      .sort();

  test('a thread that shares a key with the filter of a list, and does not pass it, is not in the list', () =>
    withDirectory(async (dataDir) => {
      const key = await withConversation(dataDir, async (c) => {
        await c.groupOf('h', 'ann');
        await c.newThread('t', { location: '{"a":"1"}' });
        await c.newThread('u', { groupId: 'h', location: '{"a":"2"}' });
      });
      withFile(dataDir, (database) => {
        const all = database.prepare('SELECT DISTINCT list_key FROM thread_lists').all();
        const insert = database.prepare(`
          INSERT OR IGNORE INTO thread_lists SELECT project_no, ?, 0, created_at, thread_no FROM threads`);
        for (const { list_key } of all) insert.run(list_key as number);
      });
      await withConversation(
        dataDir,
        async (c) => {
          for (const partial of [false, true]) {
            const location = { location: '{"a":"1"}', partial };
            assert.deepEqual(await c.threadIds({ location }), ['t']);
            assert.deepEqual(await c.threadIds({ location, groupId: 'g', limit: 1 }), ['t']);
            assert.deepEqual(await c.threadIds({ location, groupId: 'h' }), []);
          }
          assert.deepEqual(await c.threadIds({ groupId: 'h' }), ['u']);
        },
        key,
      );
    }));

  test(
    'of several pairs the rarest leads to the threads: a page is not spent on those that have the others',
    {
      timeout: 60_000,
    },
    () =>
      withDirectory(async (dataDir) => {
        const key = await withConversation(dataDir, async () => {});
        withWrites(dataDir, ({ threads }, database) =>
          inTransaction(database, () => {
            const put = (id: string, location: Record<string, string>) =>
              threads.put(
                key,
                id,
                { groupId: 'g', name: id, location: canonicalLocation(location) },
                CONTEXT,
              );
            put('first', { app: 'a', page: '1', zone: 'z' });
            for (const id of numbered('t', 5_500)) put(id, { app: 'a', page: id, zone: 'z' });
            put('last', { app: 'a', page: '1', zone: 'z' });
          }),
        );
        await withConversation(
          dataDir,
          async (c) => {
            const location = {
              location: canonicalLocation({ app: 'a', page: '1', zone: 'z' }),
              partial: true,
            };
            for (const groupId of [null, 'g']) {
              const { threads, last } = await c.listThreads({ location, groupId });
              const ids = threads.map(({ id }) => id);
              assert.deepEqual([ids, last], [['last', 'first'], null]);
            }
          },
          key,
        );
      }),
  );

  test('a page with very many participants ends early, and a walk has every thread once', () =>
    withDirectory(async (dataDir) => {
      const key = await withConversation(dataDir, async () => {});
      const ids = numbered('t', 300);
      withWrites(dataDir, ({ threads }, database) =>
        inTransaction(database, () => {
          for (const [index, id] of ids.entries()) {
            const context = { ...CONTEXT, now: index };
            threads.put(key, id, { groupId: 'g', name: id }, context);
            for (const user of numbered('u', limits.PARTICIPANTS_SHOWN))
              threads.markSeen(key, id, user, null, context);
          }
        }),
      );
      await withConversation(
        dataDir,
        async (c) => {
          const { threads, last } = await c.listThreads();
          assert.equal(threads.length, WORK_MAX / limits.PARTICIPANTS_SHOWN + 1);
          assert.notEqual(last, null);
          assert.deepEqual(await c.threadIds(), ids.toReversed());
        },
        key,
      );
    }));
});

describe('what messages cost', () => {
  test(
    'a message of 1 KiB takes at most 2.5 KiB of disk, with its indexes and its recorded change',
    {
      timeout: 120_000,
    },
    () =>
      withDirectory(async (dataDir) => {
        const [THREADS, MESSAGES, AT_ONCE] = [200, 4_000, 500];
        const users = numbered('user-', 20);
        const key = await withConversation(dataDir, async (c) => {
          await c.groupOf('g', 'ann', ...users);
          const location = (id: string) => canonicalLocation({ page: id });
          for (const id of numbered('t', THREADS)) await c.newThread(id, { location: location(id) });
        });
        const sizeOf = () => statSync(join(dataDir, STORE_FILE)).size;
        const before = sizeOf();
        await withConversation(
          dataDir,
          async (c) => {
            const random = new Random(5);
            const threads = numbered('t', THREADS);
            const content = plain('x'.repeat(1_024));
            for (let from = 0; from < MESSAGES; from += AT_ONCE) {
              const batch = Array.from({ length: AT_ONCE }, () =>
                c.newMessage(
                  random.pick(threads),
                  randomUUID(),
                  { authorId: random.pick(users), content },
                  { revision: newRevision() },
                ),
              );
              await Promise.all(batch);
            }
          },
          key,
        );
        const bytes = (sizeOf() - before) / MESSAGES;
        assert.ok(bytes <= 2.5 * 1_024, `${Math.round(bytes)} bytes for each message`);
      }),
  );

  test('an append to a long text adds to its last piece; the text is no part of the row of the message', () =>
    withDirectory(async (dataDir) => {
      const key = await withConversation(dataDir, async (c) => {
        await c.newThread('t');
        await c.newMessage('t', 'm', { content: markdown('x'.repeat(10_000)) });
      });
      withWrites(dataDir, ({ messages }, database) => {
        database.exec(`CREATE TEMP TABLE touched (piece_no INTEGER, bytes INTEGER);
          CREATE TEMP TRIGGER i AFTER INSERT ON message_pieces BEGIN
            INSERT INTO touched VALUES (new.piece_no, octet_length(new.text)); END;
          CREATE TEMP TRIGGER u AFTER UPDATE ON message_pieces BEGIN
            INSERT INTO touched VALUES (new.piece_no, octet_length(new.text)); END;`);
        inTransaction(database, () => {
          for (let index = 0; index < 2_000; index += 1) {
            const outcome = messages.append(key, 't', 'm', appended('x'.repeat(50)), CONTEXT);
            assert.equal(outcome.kind, 'appended');
          }
        });
        const touched = database.prepare('SELECT piece_no AS piece, bytes FROM touched ORDER BY rowid').all();
        assert.equal(touched.length, 2_000, 'one piece for each append');
        let last = 1;
        for (const { piece, bytes } of touched as { piece: number; bytes: number }[]) {
          assert.ok(piece === last || piece === last + 1, `piece ${piece} after ${last}`);
          assert.ok(bytes <= 2_048, `a piece of ${bytes} bytes`);
          last = piece;
        }
        const row = database.prepare('SELECT octet_length(content) AS bytes FROM messages').get();
        assert.equal(row?.bytes, 0, 'an append writes the whole row');
      });
      await withConversation(
        dataDir,
        async (c) => assert.equal(textOf((await c.message('t', 'm')).content).length, 110_000),
        key,
      );
    }));

  test('the last messages of the last thread that can have numbers are found', () =>
    withDirectory(async (dataDir) => {
      const key = await withConversation(dataDir, async () => {});
      withFile(dataDir, (database) =>
        database.exec(`INSERT INTO threads SELECT ${2 ** 28 - 2}, NULL, -1, 'x', 'r', 1, NULL, NULL, 0, 0, 0, 0, 'e', 0, 0, 0, 'x', NULL, NULL, '{}'
          WHERE NOT EXISTS (SELECT 1 FROM threads)`),
      );
      await withConversation(
        dataDir,
        async (c) => {
          await c.newThread('t');
          withFile(dataDir, (database) =>
            database.exec(`UPDATE threads SET last_seq = ${2 ** 25 - 4} WHERE id = 't'`),
          );
          for (const id of ['a', 'b', 'd']) await c.newMessage('t', id, { content: markdown(id) });
          await assert.rejects(c.newMessage('t', 'e'), /no more messages/);
          await c.append('t', 'b', appended(' more'));
          await c.putMessage('t', 'd', { metadata: '{"d":1}' });
          await c.deleteMessage('t', 'a');
          assert.deepEqual(await c.messageIds('t'), ['b', 'd']);
          assert.equal(textOf((await c.message('t', 'b')).content), 'b more');
          assert.equal((await c.message('t', 'd')).metadata, '{"d":1}');
        },
        key,
      );
    }));
});

describe('the purge', () => {
  const MESSAGES = 3_000;

  /** Group `g` has the large thread `t` and the thread `u`; group `h` has `other`. */
  async function stock(dataDir: string): Promise<ProjectKey> {
    const key = await withConversation(dataDir, async (c) => {
      await c.groupOf('h', 'ann');
      await c.newThread('t', { location: '{"a":"1"}' });
      await c.newThread('u');
      await c.newThread('other', { groupId: 'h', location: '{"a":"1"}' });
      await c.newMessage('u', 'm', { content: markdown('x') });
      await c.append('u', 'm', appended('y'));
      await c.newMessage('other', 'm', { content: markdown('x') });
      await c.append('other', 'm', appended('y'));
    });
    withWrites(dataDir, ({ messages }, database) =>
      inTransaction(database, () => {
        for (const id of numbered('m', MESSAGES)) {
          messages.put(key, 't', id, { authorId: 'ann', content: markdown('x') }, CONTEXT);
          messages.append(key, 't', id, appended('y'), CONTEXT);
        }
      }),
    );
    return key;
  }

  /** Rows of one thread with one message that was appended to, in as many lists as a location of one pair leads to. */
  const OTHER_ALONE = [1, 1, 6, 1, 1, 1];

  /** Waits until nothing is left to purge. A purge that does not end is ended by the timeout of the test. */
  async function purged(dataDir: string, expected: readonly number[]): Promise<void> {
    while (rowsOf(dataDir).join() !== expected.join()) await nextIteration();
  }

  const deletions: readonly (readonly [what: string, run: (c: Conversation) => Promise<unknown>])[] = [
    ['group', (c) => c.deleteGroup('g')],
    ['thread', (c) => Promise.all([c.deleteThread('t'), c.deleteThread('u')])],
  ];
  for (const [what, run] of deletions) {
    test(`a deleted ${what} leaves no rows, and the others keep theirs`, { timeout: 60_000 }, () =>
      withDirectory(async (dataDir) => {
        const key = await stock(dataDir);
        // The conversation of a group that is not deleted stays.
        const [conversations = 0, ...rest] = OTHER_ALONE;
        const expected = [what === 'thread' ? conversations + 1 : conversations, ...rest];
        await withConversation(
          dataDir,
          async (c) => {
            await run(c);
            await purged(dataDir, expected);
            assert.equal(textOf((await c.message('other', 'm')).content), 'xy');
          },
          key,
        );
      }),
    );
  }

  test('a removed message leaves no rows', () =>
    withDirectory(async (dataDir) => {
      await withConversation(dataDir, async (c) => {
        await c.newThread('t');
        await c.newMessage('t', 'm', { content: markdown('x') });
        await c.append('t', 'm', appended('y'));
        await c.deleteMessage('t', 'm');
      });
      assert.deepEqual(rowsOf(dataDir), [1, 1, 2, 1, 0, 0]);
    }));

  test('a deleted project leaves no rows, and other projects keep theirs', { timeout: 60_000 }, () =>
    withDirectory(async (dataDir) => {
      const key = await stock(dataDir);
      await withConversation(dataDir, async (c) => {
        await c.newThread('t', { location: '{"a":"1"}' });
        await c.newMessage('t', 'm', { content: markdown('x') });
        await c.append('t', 'm', appended('y'));
        await c.store.projects.delete(key);
        await purged(dataDir, OTHER_ALONE);
        assert.equal(textOf((await c.message('t', 'm')).content), 'xy');
      });
    }),
  );

  test('a purge that a crash cut off goes on at the next start', { timeout: 60_000 }, () =>
    withDirectory(async (directory) => {
      const [dataDir, crashed] = [join(directory, 'data'), join(directory, 'crashed')];
      const key = await stock(dataDir);
      mkdirSync(crashed);
      withWrites(dataDir, ({ groups, purge }, database) => {
        inTransaction(database, () => groups.delete(key, 'g', CONTEXT));
        inTransaction(database, () => assert.ok(purge.run()));
        database.exec('BEGIN IMMEDIATE');
        assert.ok(purge.run());
        // What is on disk in the middle of a slice is what a crash leaves.
        for (const suffix of ['', '-wal'].filter((each) => existsSync(join(dataDir, STORE_FILE + each)))) {
          copyFileSync(join(dataDir, STORE_FILE + suffix), join(crashed, STORE_FILE + suffix));
        }
        database.exec('ROLLBACK');
      });
      const [, , , , left = 0] = rowsOf(crashed);
      assert.ok(left > 1 && left < MESSAGES, `${left} messages are left: a part of them was purged`);
      await withConversation(
        crashed,
        async (c) => {
          assert.equal(await c.findThread('t'), null);
          await purged(crashed, OTHER_ALONE);
          assert.deepEqual(await c.threadIds(), ['other']);
          assert.equal(textOf((await c.message('other', 'm')).content), 'xy');
        },
        key,
      );
    }),
  );

  for (const what of ['group', 'thread'] as const) {
    test(`a new thread with the ID of one of a deleted ${what} that is half purged keeps its messages`, () =>
      withDirectory(async (dataDir) => {
        const key = await stock(dataDir);
        withWrites(dataDir, ({ groups, threads, messages, purge }, database) => {
          const { changes: _, ...outcome } = (
            what === 'group' ? groups.delete(key, 'g', CONTEXT) : threads.delete(key, 't', CONTEXT)
          ) as { kind: string; changes?: unknown };
          assert.deepEqual(outcome, { kind: 'deleted' });
          inTransaction(database, () => assert.ok(purge.run()));
          const created = threads.put(key, 't', { groupId: 'h', name: 'T' }, CONTEXT);
          assert.equal(created.kind, 'created');
          messages.put(key, 't', 'new', { authorId: 'ann', content: plain('x') }, CONTEXT);
          while (purge.run());
        });
        await withConversation(
          dataDir,
          async (c) => {
            assert.deepEqual(await c.messageIds('t'), ['new']);
            assert.deepEqual((await c.threadIds({ groupId: 'h' })).sort(), ['other', 't']);
            // Where the thread alone was deleted, its group keeps the thread `u`.
            const expected = what === 'group' ? [1, 2, 8, 2, 2, 1] : [2, 3, 10, 3, 3, 2];
            assert.deepEqual(rowsOf(dataDir), expected);
          },
          key,
        );
      }));
  }
});
