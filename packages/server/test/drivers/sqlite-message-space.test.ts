/** The disk space of messages in the embedded store, and the rows that an append touches. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { canonicalLocation } from '@rollcall/protocol';
import { newRevision } from '../../src/core/revision.ts';
import { STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { appended, markdown, plain, textOf } from '../contract/store/conversation.ts';
import { numbered } from '../contract/store/roster.ts';
import { Random } from '../sim/random.ts';
import { CONTEXT } from '../support/origin.ts';
import { inTransaction, withConversation, withWrites } from './sqlite-conversation.ts';
import { withDirectory, withFile } from './sqlite-directory.ts';

describe('what messages cost', () => {
  test('a message of 1 KiB takes at most 2.5 KiB of disk, with its indexes and its recorded change', () =>
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
    }));

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
        database.exec(`INSERT INTO threads SELECT ${2 ** 28 - 2}, NULL, -1, 'x', 'r', 1, NULL, NULL, 0, 0, 0, 0, 'e', 0, 0, 0, 'x', NULL, NULL, '{}', '[]'
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
