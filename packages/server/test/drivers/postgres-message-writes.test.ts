/** Pieces of messages on PostgreSQL, and the locks of writes that race. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type pg from 'pg';
import { ConversationPurge } from '../../src/store/postgres/conversation/postgres-conversation-purge.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { appended, Conversation, markdown, textOf } from '../contract/store/conversation.ts';
import { Random } from '../sim/random.ts';
import { closing } from '../support/closing.ts';
import { skipsPostgres, withClient } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import {
  counts,
  derived,
  listed,
  PARTICIPANTS_LISTED_WRONG,
  rows,
  withConversation,
} from './postgres-conversation.ts';
import { purgeToTheEnd, withPurge } from './purge-all.ts';

/** Waits until another session waits for a lock of this one. */
async function blockedBy(url: string, client: pg.Client): Promise<void> {
  const [self] = (await client.query('SELECT pg_backend_pid() AS pid')).rows;
  const waiting = 'SELECT 1 FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))';
  await until('the wait of another session', async () => (await rows(url, waiting, self.pid)).length > 0);
}

describe('writes of messages on PostgreSQL', { skip: skipsPostgres }, () => {
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

  test('writes that race on several threads, and deletions of their groups, end in no deadlock', () =>
    withConversation(async (c, url) => {
      const kinds = new Set<string>();
      {
        await using other = closing(await openPostgresStore({ url }));
        const stores = [c, new Conversation(other, c.key)];
        const random = new Random(7);
        const ids = ['t1', 't2', 't3'] as const;
        const step = async (index: number): Promise<void> => {
          const by = random.pick(stores);
          const id = random.pick(ids);
          const message = random.pick(['m1', 'm2', 'm3'] as const);
          const group = random.pick(['g', 'h'] as const);
          const createThread = { groupId: group, name: id, location: '{"a":"1"}' };
          const ways = [
            () => by.putThread(id, { groupId: group, name: `${index}`, resolved: index % 2 === 0 }),
            ...Array.from(
              { length: 4 },
              () => () =>
                by.putMessage(id, message, { authorId: 'ann', content: markdown(`${index}`), createThread }),
            ),
            () => by.putMessage(id, message, { content: markdown(`${index}`) }),
            ...Array.from({ length: 6 }, () => () => by.append(id, message, appended('more'))),
            () => by.markSeen(id, 'ann'),
            () => by.deleteMessage(id, message),
            () => by.deleteThread(id),
            () => by.deleteGroup(group),
            ...Array.from({ length: 3 }, () => () => by.putGroup(group, { name: group, members: ['ann'] })),
            () => by.changeMembers(group, { add: ['ann'] }),
          ];
          kinds.add((await random.pick(ways)()).kind);
        };
        await withPurge(url, async (database) => {
          for (let round = 0; round < 20; round += 1) {
            await Promise.all([
              ...Array.from({ length: 20 }, (_, index) => step(index)),
              new ConversationPurge(database).run(),
            ]);
          }
        });
      }
      // PostgreSQL counts the work of a connection when it ends.
      for (const kind of ['created', 'appended', 'deleted', 'threadAbsent']) assert.ok(kinds.has(kind), kind);
      const [deadlocks] = await rows(
        url,
        'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
      );
      assert.deepEqual(deadlocks, { deadlocks: 0 });
      assert.deepEqual(await listed(url), await derived(url));
      assert.deepEqual(await rows(url, PARTICIPANTS_LISTED_WRONG), []);
      for (const group of ['g', 'h']) await c.deleteGroup(group);
      await purgeToTheEnd(url);
      assert.deepEqual(await counts(url), {});
    }));

  test('a text that is appended while new content is put is in none or whole, and never after content that it does not belong to', () =>
    withConversation(async (c, url) => {
      await using other = closing(await openPostgresStore({ url }));
      const beside = new Conversation(other, c.key);
      await c.newThread('t');
      await c.newMessage('t', 'm', { content: markdown('') });
      for (let round = 0; round < 20; round += 1) {
        const put = c.putMessage('t', 'm', { content: markdown(`<${round}>`) });
        const texts = Array.from({ length: 5 }, () => beside.append('t', 'm', appended(`(${round})`)));
        await Promise.all([put, ...texts]);
        const text = textOf((await c.message('t', 'm')).content);
        assert.match(text, new RegExp(`^<${round}>(\\(${round}\\)){0,5}$`));
        const { kind } = await c.append('t', 'm', appended('.', text.length));
        assert.equal(kind, 'appended', 'the length is that of the text');
      }
    }));

  test('texts that several processes append to one message all arrive, each whole, and each answer has another length', () =>
    withConversation(async (c, url) => {
      const stores = await Promise.all([1, 2].map(() => openPostgresStore({ url })));
      await c.newThread('t');
      await c.newMessage('t', 'm', { content: markdown('') });
      try {
        const callers = [c, ...stores.map((store) => new Conversation(store, c.key))];
        const texts = callers.flatMap((by, caller) =>
          Array.from({ length: 40 }, (_, index) => ({ by, text: `(${caller}-${index})` })),
        );
        const outcomes = await Promise.all(texts.map(({ by, text }) => by.append('t', 'm', appended(text))));
        const lengths = outcomes.map((outcome) => (outcome.kind === 'appended' ? outcome.length : 0));
        const found = textOf((await c.message('t', 'm')).content);
        assert.deepEqual(found.match(/\([^)]*\)/g)?.sort(), texts.map(({ text }) => text).sort());
        // What an answer counts ends with its own text.
        for (const [index, length] of lengths.entries())
          assert.equal(found.slice(0, length).endsWith((texts[index] as { text: string }).text), true);
        assert.equal(Math.max(...lengths), found.length);
      } finally {
        for (const store of stores) await store.close();
      }
    }));

  test('one of two appends at the same moment is stale where both require the same state of a message', () =>
    withConversation(async (c, url) => {
      await using other = closing(await openPostgresStore({ url }));
      const callers = [c, new Conversation(other, c.key)];
      await c.newThread('t');
      for (let round = 0; round < 20; round += 1) {
        const revision = `empty ${round}`;
        await c.putMessage('t', 'm', { authorId: 'ann', content: markdown('') }, { revision });
        const [offset, given] = round % 2 === 0 ? [0, {}] : [null, { ifMatch: [revision] }];
        const appends = callers.map((by) => by.append('t', 'm', appended('text', offset), given));
        const kinds = (await Promise.all(appends)).map(({ kind }) => kind);
        assert.deepEqual(kinds.sort(), ['appended', 'stale']);
        assert.equal(textOf((await c.message('t', 'm')).content), 'text');
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
});
