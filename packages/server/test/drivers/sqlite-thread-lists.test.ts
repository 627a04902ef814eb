/** The lists of threads in the embedded store: their rows, and the work of a page. */
import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { canonicalLocation, limits } from '@rollcall/protocol';
import { WORK_MAX } from '../../src/store/conversation/thread-page-bounds.ts';
import type { ThreadRecord } from '../../src/store/ports/threads.ts';
import { listKeys } from '../../src/store/sqlite/conversation/sqlite-conversation-lists.ts';
import { numbered } from '../contract/store/roster.ts';
import { CONTEXT } from '../support/origin.ts';
import { inTransaction, withConversation, withWrites } from './sqlite-conversation.ts';
import { withDirectory, withFile } from './sqlite-directory.ts';
import { walkThreads } from './thread-walk.ts';

describe('the lists of threads', () => {
  test('whatever is done, a thread is in the lists of its group, location and resolution, and in no others', () =>
    withDirectory(async (dataDir) => {
      await withConversation(dataDir, (c) =>
        walkThreads(c, ['ann'], async (when) =>
          assert.deepEqual(withFile(dataDir, listed), withFile(dataDir, derived), when),
        ),
      );
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

  test('a list of threads with several pairs is searched by the rarest pair, and visits no thread that has only the others', () =>
    withDirectory(async (dataDir) => {
      const key = await withConversation(dataDir, async () => {});
      withWrites(dataDir, ({ threads }, database) =>
        inTransaction(database, () => {
          const put = (id: string, location: Record<string, string>) =>
            threads.put(key, id, { groupId: 'g', name: id, location: canonicalLocation(location) }, CONTEXT);
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
    }));

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
              threads.markSeen(key, id, { userId: user, messageId: null }, context);
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

  test('a store whose threads have no column of the participants that they show has the same ones after the migration', () =>
    withDirectory(async (dataDir) => {
      let before: ThreadRecord[] = [];
      const key = await withConversation(dataDir, async (c) => {
        for (const id of ['t', 'none', 'few']) await c.newThread(id);
        for (const user of ['b', '\u{10000}', 'B', '\uffef']) await c.markSeen('few', user, null, { now: 1 });
        const users = numbered('u', limits.PARTICIPANTS_SHOWN + 5);
        for (const [index, user] of users.entries()) await c.markSeen('t', user, null, { now: index });
        before = [...(await c.listThreads()).threads];
      });
      withFile(dataDir, (database) =>
        database.exec(`
          ALTER TABLE threads DROP COLUMN participants;
          CREATE INDEX participants_by_time ON participants (thread_no, last_seen_at, user_id);
          PRAGMA user_version = 13`),
      );
      await withConversation(
        dataDir,
        async (c) => assert.deepEqual([...(await c.listThreads()).threads], before),
        key,
      );
      const shown = before.map(({ participants }) => participants.length);
      assert.deepEqual(shown, [4, 0, limits.PARTICIPANTS_SHOWN]);
    }));
});
