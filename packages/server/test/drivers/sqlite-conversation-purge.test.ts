/** The purge of threads and messages in the embedded store. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { appended, type Conversation, markdown, plain, textOf } from '../contract/store/conversation.ts';
import { numbered } from '../contract/store/roster.ts';
import { CONTEXT } from '../support/origin.ts';
import { until } from '../support/waiting.ts';
import { inTransaction, rowsOf, withConversation, withWrites } from './sqlite-conversation.ts';
import { withDirectory } from './sqlite-directory.ts';

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

  /** Waits until nothing is left to purge. */
  const purged = (dataDir: string, expected: readonly number[]): Promise<void> =>
    until('the end of the purge', () => rowsOf(dataDir).join() === expected.join());

  const deletions: readonly (readonly [what: string, run: (c: Conversation) => Promise<unknown>])[] = [
    ['group', (c) => c.deleteGroup('g')],
    ['thread', (c) => Promise.all([c.deleteThread('t'), c.deleteThread('u')])],
  ];
  for (const [what, run] of deletions) {
    test(`a deleted ${what} leaves no rows, and the others keep theirs`, () =>
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
      }));
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

  test('a deleted project leaves no rows, and other projects keep theirs', () =>
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
    }));

  test('a purge that a crash cut off goes on at the next start', () =>
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
    }));

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
