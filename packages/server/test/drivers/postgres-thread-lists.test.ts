/** The lists of threads on PostgreSQL: their rows, and the work of a page. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { canonicalLocation, limits } from '@rollcall/protocol';
import { newRevision } from '../../src/core/revision.ts';
import { WORK_MAX } from '../../src/store/conversation/thread-page-bounds.ts';
import { inBatches, plain } from '../contract/store/conversation.ts';
import { numbered } from '../contract/store/roster.ts';
import { Random } from '../sim/random.ts';
import { skipsPostgres } from '../support/postgres.ts';
import {
  derived,
  listed,
  PARTICIPANTS_LISTED_WRONG,
  rows,
  TABLES,
  withConversation,
} from './postgres-conversation.ts';
import { walkThreads } from './thread-walk.ts';

describe('lists of conversations on PostgreSQL', { skip: skipsPostgres }, () => {
  test('whatever is done, a thread is in the lists of its group, location and resolution, and in no others', () =>
    withConversation((c, url) =>
      walkThreads(c, ['ann', 'bob'], async (when) => {
        assert.deepEqual(await listed(url), await derived(url), when);
        assert.deepEqual(await rows(url, PARTICIPANTS_LISTED_WRONG), [], when);
      }),
    ));

  test('a message of 1 KiB takes at most 2.5 KiB of disk, with its indexes and its recorded change', () =>
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
    }));

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
});
