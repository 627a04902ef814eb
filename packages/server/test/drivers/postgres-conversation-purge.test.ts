/** The purge of threads and messages on PostgreSQL. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { appended, Conversation, markdown, plain, textOf } from '../contract/store/conversation.ts';
import { newRoster } from '../contract/store/roster.ts';
import { skipsPostgres } from '../support/postgres.ts';
import { until, within } from '../support/waiting.ts';
import { counts, rows, withConversation } from './postgres-conversation.ts';
import { purgeToTheEnd } from './purge-all.ts';

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

describe('the purge of conversations on PostgreSQL', { skip: skipsPostgres }, () => {
  const deletions: readonly (readonly [what: string, run: (c: Conversation) => Promise<unknown>])[] = [
    ['group', (c) => c.deleteGroup('g')],
    ['thread', (c) => Promise.all([c.deleteThread('t'), c.deleteThread('u')])],
    ['project', (c) => c.store.projects.delete(c.key)],
  ];
  for (const [what, run] of deletions) {
    test(`a deleted ${what} leaves no rows, and the others keep theirs`, () =>
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
        // The store has begun to remove slices of a deleted project.
        await until('the end of the purge', async () => {
          await purgeToTheEnd(url);
          return isDeepStrictEqual(await counts(url), left);
        });
        assert.equal(textOf((await staying.message('t', 'm')).content), 'xy');
      }));
  }

  test('a group with many messages is deleted at once, and goes on being purged after a restart', () =>
    withConversation(async (c, url) => {
      await c.newThread('t');
      await c.newMessage('t', 'm');
      await fill(url, c.key, 20_000);
      // The removal of the rows takes many times as long.
      const outcome = await within(2_000, c.deleteGroup('g'));
      assert.equal(outcome.kind, 'deleted');
      // It lets the slice under way finish.
      await c.store.close();
      assert.ok(((await counts(url)).messages ?? 0) > 10_000);
      // A store that is opened purges what an earlier one left.
      const store = await openPostgresStore({ url });
      await until('no row is left', async () => Object.keys(await counts(url)).length === 0);
      await store.close();
    }));

  test('a thread takes the ID of one whose group was deleted, and the purge of that one leaves it', () =>
    withConversation(async (c, url) => {
      await c.newThread('t', { location: '{"a":"1"}' });
      await c.newMessage('t', 'm');
      await c.deleteGroup('g');
      await c.newThread('t', { groupId: 'h', location: '{"a":"1"}' });
      await c.newMessage('t', 'm', { content: plain('new') });
      await purgeToTheEnd(url);
      assert.equal((await c.message('t', 'm')).content, plain('new').json);
      assert.deepEqual(await c.threadIds({ location: { location: '{"a":"1"}', partial: false } }), ['t']);
      const { threads, thread_ids: ids, messages, message_ids: messageIds } = await counts(url);
      assert.deepEqual([threads, ids, messages, messageIds], [1, 1, 1, 1]);
    }));
});
