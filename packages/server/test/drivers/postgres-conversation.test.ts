/** Threads and messages on PostgreSQL: their lists, what they cost, races of their writes, and how they are purged. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { canonicalLocation, limits } from '@rollcall/protocol';
import type pg from 'pg';
import { newRevision } from '../../src/core/revision.ts';
import { PostgresDatabase } from '../../src/store/postgres/connections/postgres-database.ts';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { listKeys } from '../../src/store/postgres/postgres-conversation-lists.ts';
import { purgeConversationSlice } from '../../src/store/postgres/postgres-conversation-purge.ts';
import { purgeSlice } from '../../src/store/postgres/postgres-purge.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { WORK_MAX } from '../../src/store/thread-page-bounds.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import {
  appended,
  Conversation,
  inBatches,
  markdown,
  plain,
  textOf,
} from '../contract/store/conversation.ts';
import { newRoster, numbered } from '../contract/store/roster.ts';
import { Random } from '../sim/random.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';

const TABLES = [
  ...['conversations', 'deleted_conversations', 'threads', 'deleted_threads', 'thread_ids', 'thread_lists'],
  ...['messages', 'message_ids', 'message_pieces', 'message_positions', 'removed_messages'],
  ...['participants', 'participant_times'],
];

/** A conversation of a revision of its own for each write, with the groups `g` and `h` of ann, in a database of its own. */
function withConversation(use: (conversation: Conversation, url: string) => Promise<void>): Promise<void> {
  return withDatabase(async (url) => {
    const store = await openPostgresStore({ url });
    try {
      const conversation = new Conversation(store, (await newRoster(store)).key);
      await conversation.groupOf('g', 'ann');
      await conversation.groupOf('h', 'ann');
      await use(conversation, url);
    } finally {
      await store.close();
    }
  });
}

const rows = (url: string, sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  withClient(url, async (client) => (await client.query(sql, values)).rows);

/** The tables of conversations that have rows, with how many. */
async function counts(url: string): Promise<Record<string, number>> {
  const found = await rows(
    url,
    TABLES.map((t) => `SELECT '${t}' AS name, count(*)::int AS rows FROM ${t}`).join(' UNION ALL '),
  );
  return Object.fromEntries(found.filter((row) => row.rows !== 0).map((row) => [row.name, row.rows]));
}

async function withPurge(url: string, use: (database: PostgresDatabase) => Promise<void>): Promise<void> {
  const database = new PostgresDatabase(parsePostgresUrl(url));
  try {
    await use(database);
  } finally {
    await database.close();
  }
}

const isPurgeDue = async (url: string) =>
  (await rows(url, 'SELECT 1 FROM deleted_conversations UNION ALL SELECT 1 FROM deleted_threads')).length > 0;

/** A store purges too: what it is removing is left to it. */
const purgeAll = (url: string) =>
  withPurge(url, async (database) => {
    do {
      while (await purgeSlice(database));
      while (await purgeConversationSlice(database));
    } while (await isPurgeDue(url));
  });

/** Waits until another session waits for a lock of this one. A test that waits for ever is ended by its file's time limit. */
async function blockedBy(url: string, client: pg.Client): Promise<void> {
  const [self] = (await client.query('SELECT pg_backend_pid() AS pid')).rows;
  const waiting = 'SELECT 1 FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))';
  while ((await rows(url, waiting, self.pid)).length === 0);
}

/** Fills the thread `t` with so many messages, each of which has a piece, and a participant. */
async function fill(url: string, key: ProjectKey, messages: number): Promise<void> {
  const ofThread = `FROM thread_ids, generate_series(1, ${messages}) n WHERE project_id = $1 AND id = 't'`;
  const inserts = [
    `messages (project_id, thread_no, seq, id, author_id, type, metadata, created_at, deleted, revision, content,
       markdown_length, content_bytes, piece_count, position, written_position)
     SELECT project_id, thread_no, 1000 + n, 'z' || n, 'ann', 'user_message', '{}', n, FALSE, 'r', '[', 1, 2, 1, 1000 + n, 1000 + n ${ofThread}`,
    `message_ids (project_id, thread_no, created_at, seq, id) SELECT project_id, thread_no, n, 1000 + n, 'z' || n ${ofThread}`,
    `message_positions (project_id, thread_no, position, created_at, seq)
     SELECT project_id, thread_no, 1000 + n, n, 1000 + n ${ofThread}`,
    `removed_messages (project_id, thread_no, position, id) SELECT project_id, thread_no, n, 'x' || n ${ofThread}`,
    `message_pieces (project_id, thread_no, seq, piece_no, text) SELECT project_id, thread_no, 1000 + n, 1, 'text' ${ofThread}`,
    `participants (project_id, thread_no, user_id, last_seen_at) SELECT project_id, thread_no, 'v' || n, n ${ofThread}`,
    `participant_times (project_id, thread_no, user_id, last_seen_at) SELECT project_id, thread_no, 'v' || n, n ${ofThread}`,
  ];
  for (const insert of inserts) await rows(url, `INSERT INTO ${insert}`, key);
}

describe('conversations on PostgreSQL', { skip: skipsPostgres }, () => {
  const SEED = 11;

  test('whatever is done, a thread is in the lists of its group, location and resolution, and in no others', () =>
    withConversation(async (c, url) => {
      const random = new Random(SEED);
      const locations = [null, '{"a":"1"}', '{"a":"1","b":"2"}', '{"b":"2","c":"3"}'] as const;
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
            () => c.markSeen(id, random.pick(['ann', 'bob'] as const)),
          ];
          await random.pick(ways)();
        }
        if (round % 10 === 9) {
          await c.deleteGroup('h');
          await c.groupOf('h', 'ann');
        }
        assert.deepEqual(await listed(url), await derived(url), `seed ${SEED}, round ${round}`);
        assert.deepEqual(await rows(url, PARTICIPANTS_LISTED_WRONG), [], `seed ${SEED}, round ${round}`);
      }
    }));

  const ALIVE = 'threads t JOIN conversations c USING (project_id, group_id, conversation_no)';
  const PARTICIPANTS_LISTED_WRONG = `
    SELECT user_id FROM participants FULL JOIN participant_times USING (project_id, thread_no, user_id, last_seen_at)
    WHERE participants.thread_no IS NULL OR participant_times.thread_no IS NULL`;

  /** The lists of the threads that are found, as they are. */
  async function listed(url: string): Promise<string[]> {
    const found = await rows(
      url,
      `SELECT l.thread_no, l.conversation_no, l.location_key, l.resolved, l.activity
       FROM thread_lists l JOIN (SELECT t.project_id, t.thread_no FROM ${ALIVE}) AS t USING (project_id, thread_no)`,
    );
    return found.map((row) => Object.values(row).join(' ')).sort();
  }

  /** The same, as they follow from the threads. */
  async function derived(url: string): Promise<string[]> {
    const found = await rows(url, `SELECT t.* FROM ${ALIVE}`);
    return found
      .flatMap(({ thread_no, conversation_no, location, resolved_at, last_message_at, created_at }) =>
        ['0', conversation_no].flatMap((conversation) =>
          listKeys(location as string | null).map((key) =>
            [thread_no, conversation, key, resolved_at !== null, last_message_at ?? created_at].join(' '),
          ),
        ),
      )
      .sort();
  }

  test(
    'a message of 1 KiB takes at most 2.5 KiB of disk, with its indexes and its recorded change',
    { timeout: 120_000 },
    () =>
      withConversation(async (c, url) => {
        const [THREADS, MESSAGES] = [50, 1_500];
        const threads = numbered('t', THREADS);
        const users = numbered('user-', 20);
        await c.groupOf('g', 'ann', ...users);
        await inBatches(threads, (id) => c.newThread(id, { location: canonicalLocation({ page: id }) }));
        const size = async () => {
          // The server does so by itself, a little later.
          await rows(url, 'VACUUM');
          const [row] = await rows(
            url,
            `SELECT sum(pg_total_relation_size(oid))::int AS bytes FROM pg_class WHERE relname = ANY($1)`,
            [...TABLES, 'changes'],
          );
          return Number(row?.bytes);
        };
        const random = new Random(5);
        const content = plain('x'.repeat(1_024));
        // One after the other: where several writers extend a table, PostgreSQL adds many pages ahead.
        const write = async (messages: number) => {
          for (let index = 0; index < messages; index += 1) {
            const message = { authorId: random.pick(users), content };
            await c.newMessage(random.pick(threads), randomUUID(), message, { revision: newRevision() });
            if (index % 100 === 0) await size();
          }
        };
        await write(300);
        const before = await size();
        await write(MESSAGES);
        const bytes = ((await size()) - before) / MESSAGES;
        assert.ok(bytes <= 2.5 * 1_024, `${Math.round(bytes)} bytes for each message`);
        assert.ok(bytes > 1_024);
      }),
  );

  test('a page with very many participants ends early, and a walk has every thread once', () =>
    withConversation(async (c, url) => {
      const ids = numbered('t', 300);
      for (const [index, id] of ids.entries()) await c.newThread(id, {}, { now: index });
      for (const table of ['participants', 'participant_times'])
        await rows(
          url,
          `INSERT INTO ${table} (project_id, thread_no, user_id, last_seen_at)
           SELECT project_id, thread_no, 'u' || n, n FROM threads, generate_series(1, $1::int) n`,
          limits.PARTICIPANTS_SHOWN,
        );
      const { threads, last } = await c.listThreads();
      assert.equal(threads.length, WORK_MAX / limits.PARTICIPANTS_SHOWN + 1);
      assert.notEqual(last, null);
      assert.deepEqual(await c.threadIds(), ids.toReversed());
    }));

  test('a page with very many unread messages ends early, and messages that were never seen are not counted one by one', () =>
    withConversation(async (c, url) => {
      const ids = ['a', 'b', 'd', 'e'];
      for (const [index, id] of ids.entries()) await c.newThread(id, { createdAt: index });
      await rows(
        url,
        `INSERT INTO messages (project_id, thread_no, seq, id, author_id, type, metadata, created_at, deleted, revision,
           content, content_bytes, position, written_position)
         SELECT project_id, thread_no, n, n, 'ann', 'user_message', '{}', n, n <= 30000, 'r', '[]', 2, n, n
         FROM threads, generate_series(1, 45000) n WHERE id <> 'e'`,
      );
      await rows(url, `UPDATE threads SET user_messages = 15000, deleted_messages = 30000 WHERE id <> 'e'`);
      for (const id of ids) await c.markSeen(id, 'bob', null, { now: 0 });
      const page = async (viewer: string) =>
        (await c.listThreads({ viewer })).threads.map(({ id, unread }) => [id, unread]);
      const many = limits.UNREAD_MAX;
      const all = [
        ['e', 0],
        ['d', many],
        ['b', many],
      ] as const;
      assert.deepEqual(await page('bob'), all);
      assert.deepEqual(await page('cid'), [...all, ['a', many]]);
    }));

  test('an append extends the last piece below 2 KiB, else begins another, and leaves the content', () =>
    withConversation(async (c, url) => {
      await c.newThread('t');
      await c.newMessage('t', 'm', { content: markdown('x'.repeat(10_000)) });
      for (let index = 0; index < 200; index += 1) await c.append('t', 'm', appended('y'.repeat(50)));
      const pieces = await rows(
        url,
        'SELECT piece_no, octet_length(text) AS bytes FROM message_pieces ORDER BY piece_no',
      );
      assert.deepEqual(
        pieces.map((row) => Object.values(row)),
        [1, 2, 3, 4, 5].map((piece) => [piece, piece < 5 ? 2_050 : 1_800]),
      );
      const [row] = await rows(
        url,
        'SELECT octet_length(content) AS bytes, piece_count, piece_bytes FROM messages',
      );
      assert.ok(Number(row?.bytes) < 10_100);
      assert.deepEqual([row?.piece_count, row?.piece_bytes], [5, 1_800]);
      assert.equal(textOf((await c.message('t', 'm')).content).length, 20_000);
      await c.putMessage('t', 'm', { content: markdown('new') });
      assert.deepEqual(await rows(url, 'SELECT * FROM message_pieces'), []);
      await c.append('t', 'm', appended(' text'));
      assert.equal(textOf((await c.message('t', 'm')).content), 'new text');
    }));

  test(
    'writes that race on several threads, and deletions of their groups, end in no deadlock',
    { timeout: 120_000 },
    () =>
      withConversation(async (c, url) => {
        const other = await openPostgresStore({ url });
        const stores = [c, new Conversation(other, c.key)];
        const random = new Random(7);
        const ids = ['t1', 't2', 't3'] as const;
        const kinds = new Set<string>();
        const step = async (index: number): Promise<void> => {
          const by = random.pick(stores);
          const id = random.pick(ids);
          const message = random.pick(['m1', 'm2', 'm3'] as const);
          const group = random.pick(['g', 'h'] as const);
          const createThread = { groupId: group, name: id, location: '{"a":"1"}' };
          const ways = [
            () => by.putThread(id, { groupId: group, name: `${index}`, resolved: index % 2 === 0 }),
            () =>
              by.putMessage(id, message, { authorId: 'ann', content: markdown(`${index}`), createThread }),
            () => by.putMessage(id, message, { content: markdown(`${index}`) }),
            () => by.append(id, message, appended('more')),
            () => by.append(id, message, appended('more')),
            () => by.markSeen(id, 'ann'),
            () => by.deleteMessage(id, message),
            () => by.deleteThread(id),
            () => by.deleteGroup(group),
            () => by.putGroup(group, { name: group, members: ['ann'] }),
            () => by.changeMembers(group, { add: ['ann'] }),
          ];
          kinds.add((await random.pick(ways)()).kind);
        };
        try {
          await withPurge(url, async (database) => {
            for (let round = 0; round < 20; round += 1) {
              await Promise.all([
                ...Array.from({ length: 20 }, (_, index) => step(index)),
                purgeConversationSlice(database),
              ]);
            }
          });
        } finally {
          await other.close();
        }
        for (const kind of ['created', 'appended', 'deleted', 'threadAbsent'])
          assert.ok(kinds.has(kind), kind);
        const [deadlocks] = await rows(
          url,
          'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
        );
        assert.deepEqual(deadlocks, { deadlocks: 0 });
        assert.deepEqual(await listed(url), await derived(url));
        assert.deepEqual(await rows(url, PARTICIPANTS_LISTED_WRONG), []);
        for (const group of ['g', 'h']) await c.deleteGroup(group);
        await purgeAll(url);
        assert.deepEqual(await counts(url), {});
      }),
  );

  test('a text that is appended while new content is put is in none or whole, and never after content that it does not belong to', () =>
    withConversation(async (c, url) => {
      const other = await openPostgresStore({ url });
      const beside = new Conversation(other, c.key);
      await c.newThread('t');
      await c.newMessage('t', 'm', { content: markdown('') });
      try {
        for (let round = 0; round < 20; round += 1) {
          const put = c.putMessage('t', 'm', { content: markdown(`<${round}>`) });
          const texts = Array.from({ length: 5 }, () => beside.append('t', 'm', appended(`(${round})`)));
          await Promise.all([put, ...texts]);
          const text = textOf((await c.message('t', 'm')).content);
          assert.match(text, new RegExp(`^<${round}>(\\(${round}\\)){0,5}$`));
          const { kind } = await c.append('t', 'm', appended('.', text.length));
          assert.equal(kind, 'appended', 'the length is that of the text');
        }
      } finally {
        await other.close();
      }
    }));

  test('an append locks its thread before the message, also a thread that takes the ID while the append waits', () =>
    withConversation((c, url) =>
      withClient(url, (thread) =>
        withClient(url, async (message) => {
          await c.newThread('t');
          for (const id of ['m', 'n']) await c.newMessage('t', id, { content: markdown('') });
          await c.newThread('u');
          await c.newMessage('u', 'm', { content: markdown('') });
          const lock = "SELECT FROM threads WHERE id = 't' FOR UPDATE";
          await thread.query(`BEGIN; ${lock}`);
          await message.query(`BEGIN; SELECT FROM messages JOIN threads USING (project_id, thread_no)
            WHERE threads.id = 'u' FOR UPDATE OF messages`);
          const append = c.append('t', 'm', appended('text'));
          await blockedBy(url, thread);
          // The thread `u` becomes the thread `t`.
          await thread.query(`UPDATE threads SET conversation_no = 0, id = 'gone' WHERE id = 't';
            UPDATE threads SET id = 't' WHERE id = 'u';
            UPDATE thread_ids SET thread_no = (SELECT thread_no FROM threads WHERE id = 't') WHERE id = 't'; COMMIT`);
          await blockedBy(url, message);
          await assert.rejects(rows(url, `${lock} NOWAIT`), { code: '55P03' });
          await message.query('COMMIT');
          assert.equal((await append).kind, 'appended');
        }),
      ),
    ));

  const deletions: readonly (readonly [what: string, run: (c: Conversation) => Promise<unknown>])[] = [
    ['group', (c) => c.deleteGroup('g')],
    ['thread', (c) => Promise.all([c.deleteThread('t'), c.deleteThread('u')])],
    ['project', (c) => c.store.projects.delete(c.key)],
  ];
  for (const [what, run] of deletions) {
    test(`a deleted ${what} leaves no rows, and the others keep theirs`, { timeout: 60_000 }, () =>
      withConversation(async (c, url) => {
        const staying = new Conversation(c.store, (await newRoster(c.store)).key);
        await staying.groupOf('g', 'ann');
        for (const each of [staying, c]) {
          await each.newThread('t', { location: '{"a":"1"}' });
          await each.newMessage('t', 'm', { content: markdown('x') });
          await each.append('t', 'm', appended('y'));
        }
        const before = await counts(url);
        const alone = Object.fromEntries(Object.entries(before).map(([table, count]) => [table, count / 2]));
        await c.newThread('u', { location: '{"a":"1","b":"2"}', resolved: true });
        await c.newMessage('u', 'm', { content: markdown('x') });
        await fill(url, c.key, 5_000);
        await run(c);
        // A conversation stays as long as its group.
        const left = { ...alone, ...(what === 'thread' && { conversations: 2 }) };
        // Of a deleted project the store has begun to remove slices.
        do await purgeAll(url);
        while (!isDeepStrictEqual(await counts(url), left));
        assert.equal(textOf((await staying.message('t', 'm')).content), 'xy');
      }),
    );
  }

  test(
    'a group with many messages is deleted at once, and goes on being purged after a restart',
    { timeout: 120_000 },
    () =>
      withConversation(async (c, url) => {
        await c.newThread('t');
        await c.newMessage('t', 'm');
        await fill(url, c.key, 20_000);
        const begun = performance.now();
        const outcome = await c.deleteGroup('g');
        const ms = performance.now() - begun;
        assert.ok(ms < 2_000, `${Math.round(ms)} ms, where the removal of the rows takes many times as long`);
        assert.equal(outcome.kind, 'deleted');
        // It lets the slice under way finish.
        await c.store.close();
        assert.ok(((await counts(url)).messages ?? 0) > 10_000);
        // A store that is opened purges what an earlier one left.
        const store = await openPostgresStore({ url });
        while (Object.keys(await counts(url)).length > 0)
          await new Promise((resolve) => setTimeout(resolve, 50));
        await store.close();
      }),
  );

  test('a thread takes the ID of one whose group was deleted, and the purge of that one leaves it', () =>
    withConversation(async (c, url) => {
      await c.newThread('t', { location: '{"a":"1"}' });
      await c.newMessage('t', 'm');
      await c.deleteGroup('g');
      await c.newThread('t', { groupId: 'h', location: '{"a":"1"}' });
      await c.newMessage('t', 'm', { content: plain('new') });
      await purgeAll(url);
      assert.equal((await c.message('t', 'm')).content, plain('new').json);
      assert.deepEqual(await c.threadIds({ location: { location: '{"a":"1"}', partial: false } }), ['t']);
      const { threads, thread_ids: ids, messages, message_ids: messageIds } = await counts(url);
      assert.deepEqual([threads, ids, messages, messageIds], [1, 1, 1, 1]);
    }));
});
