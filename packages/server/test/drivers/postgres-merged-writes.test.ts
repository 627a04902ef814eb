/** Writes that PostgreSQL makes in one transaction, because they came at the same moment. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client } from 'pg';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { appended, Conversation, markdown, textOf } from '../contract/store/conversation.ts';
import { PAGE_1 } from '../contract/store/durable-presence.ts';
import { numbered } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { skipsPgbouncer, withPgbouncer } from '../support/own-pgbouncer.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { SlowProxy } from '../support/slow-proxy.ts';
import { withPostgresStore } from './postgres-stores.ts';

const GROUPS = numbered('g', 40);
const [FIRST, ...OTHERS] = GROUPS as [string, ...string[]];

/** A kind of write that is merged: one of each group, the table that shows its transaction, and what it locks. */
interface Kind {
  readonly name: string;
  readonly table: string;
  /** A row that the write of the first group waits for. */
  readonly lock: string;
  write(conversation: Conversation, id: string): Promise<{ readonly kind: string }>;
}

const KINDS: readonly Kind[] = [
  {
    name: 'changes of members',
    table: 'groups',
    lock: `SELECT 1 FROM groups WHERE id = '${FIRST}' FOR UPDATE`,
    write: (conversation, id) => conversation.changeMembers(id, { add: ['bob'], remove: ['cid'] }),
  },
  {
    name: 'changes of members with one locked user',
    table: 'groups',
    lock: `SELECT 1 FROM users WHERE id = 'new' FOR UPDATE`,
    write: (conversation, id) => conversation.changeMembers(id, { add: [id === FIRST ? 'new' : 'bob'] }),
  },
  {
    name: 'updates of durable presence',
    table: 'durable_presence',
    lock: `SELECT 1 FROM memberships WHERE group_id = '${FIRST}' AND user_id = 'ann' FOR UPDATE`,
    write: (conversation, id) =>
      conversation.store.durablePresence.put(
        conversation.key,
        { userId: 'ann', groupId: id, region: PAGE_1, location: PAGE_1 },
        conversation.next(),
      ),
  },
  {
    name: 'appends',
    table: 'messages',
    lock: `SELECT 1 FROM threads JOIN thread_ids USING (project_id, thread_no) WHERE thread_ids.id = '${FIRST}' FOR UPDATE OF threads`,
    write: (conversation, id) => conversation.append(id, 'm', appended(' two')),
  },
];

/** A store whose groups have ann and cid, and a thread with a message each. */
const withGroups = (use: (conversation: Conversation, url: string) => Promise<void>): Promise<void> =>
  withPostgresStore(async (store, url) => {
    const conversation = await Conversation.in({ store });
    await conversation.users('new');
    await conversation.applied({ groups: GROUPS.map((id) => ({ id, name: id, members: ['ann', 'cid'] })) });
    for (const id of GROUPS) {
      await conversation.newThread(id, { groupId: id });
      await conversation.newMessage(id, 'm', { content: markdown('one') });
    }
    await use(conversation, url);
  });

const writeAll = (conversation: Conversation, { write }: Kind, ids: readonly string[]) =>
  Promise.all(ids.map((id) => write(conversation, id)));

const kindsOf = (outcomes: readonly { readonly kind: string }[]) =>
  [...new Set(outcomes.map(({ kind }) => kind))].join();

describe('writes that come together', { skip: skipsPostgres }, () => {
  for (const kind of KINDS) {
    test(`${kind.name} that come together are few transactions`, () =>
      withGroups(async (conversation, url) => {
        const outcomes = await writeAll(conversation, kind, GROUPS);
        assert.match(kindsOf(outcomes), /^(updated|set|appended)$/);
        const { rows } = await withClient(url, (client) =>
          client.query(
            `SELECT count(*)::int AS writes FROM ${kind.table} GROUP BY xmin::text ORDER BY 1 DESC`,
          ),
        );
        const written = rows.map(({ writes }) => writes);
        assert.ok(written.length <= GROUPS.length / 2, `${written} are the writes of each transaction`);
      }));

    test(`${kind.name} do not wait for a lock that one waits for which came together with them`, () =>
      withGroups(async (conversation, url) => {
        await withClient(url, async (locker: Client) => {
          await locker.query('BEGIN');
          assert.equal((await locker.query(kind.lock)).rowCount, 1);
          let isAnswered = false;
          const first = kind.write(conversation, FIRST).finally(() => {
            isAnswered = true;
          });
          const others = await writeAll(conversation, kind, OTHERS);
          assert.match(kindsOf(others), /^(updated|set|appended)$/);
          await untilWaiting(url, 1);
          assert.equal(isAnswered, false);
          await locker.query('ROLLBACK');
          assert.equal((await first).kind, others[0]?.kind);
        });
      }));
  }

  test('a write that PostgreSQL rejects fails alone, and those that came together with it are applied', () =>
    withGroups(async (conversation, url) => {
      await withClient(url, async (client) => {
        await client.query(
          `CREATE FUNCTION reject_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'rejected by a trigger'; END $$`,
        );
        await client.query(
          `CREATE TRIGGER reject_write BEFORE INSERT ON memberships FOR EACH ROW WHEN (NEW.group_id = '${FIRST}') EXECUTE FUNCTION reject_write()`,
        );
      });
      const settled = await Promise.allSettled(
        GROUPS.map((id) => conversation.changeMembers(id, { add: ['bob'] })),
      );
      assert.deepEqual(
        settled.map((each) => (each.status === 'fulfilled' ? each.value.kind : each.reason.message)),
        ['rejected by a trigger', ...OTHERS.map(() => 'updated')],
      );
      assert.deepEqual(await conversation.members(FIRST), ['ann', 'cid']);
      assert.deepEqual(await conversation.members(OTHERS[0] as string), ['ann', 'bob', 'cid']);
    }));

  test(
    'an append whose commit PgBouncer cannot answer for is rejected, and not applied again',
    {
      skip: skipsPgbouncer,
    },
    () =>
      withDatabase((url) =>
        SlowProxy.with(url, async (proxy, through) => {
          await withPgbouncer(through, async (bouncer) => {
            await using store = closing(await openPostgresStore({ url: bouncer.urlOf(through) }));
            const conversation = await Conversation.in({ store });
            await conversation.newThread('t');
            await conversation.newMessage('t', 'm', { content: markdown('one') });
            let cuts = 0;
            proxy.cutsAt = (answer) => answer.includes('COMMIT\0') && ++cuts === 1;
            await assert.rejects(conversation.append('t', 'm', appended(' two')), StoreUnavailableError);
            const { content } = await conversation.message('t', 'm');
            assert.equal(textOf(content as string), 'one two');
          });
        }),
      ),
  );

  test('texts that come together are appended each to its own message', () =>
    withGroups(async (conversation) => {
      await Promise.all(
        GROUPS.flatMap((id) => ['a', 'b', 'c'].map((text) => conversation.append(id, 'm', appended(text)))),
      );
      for (const id of GROUPS) {
        const { content } = await conversation.message(id, 'm');
        assert.equal(textOf(content as string), 'oneabc');
      }
    }));
});
