/** What deletions leave on PostgreSQL: how it is found, when it is removed, and by how many processes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresDatabase } from '../../src/store/postgres/connections/postgres-database.ts';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { ConversationPurge } from '../../src/store/postgres/conversation/postgres-conversation-purge.ts';
import { purgeSlice } from '../../src/store/postgres/postgres-purge.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { Conversation } from '../contract/store/conversation.ts';
import { newRoster, type Roster } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { withPostgresStore } from './postgres-stores.ts';

const USERS = 20_000;
/** A store checks every minute for what others left. */
const BEFORE_CHECK_MS = 30_000;

/** Two projects with as many users and members each; the second one's lie behind the first one's. */
async function twoProjects(url: string): Promise<{ staying: Roster; leaving: Roster }> {
  await using store = closing(await openPostgresStore({ url }));
  const [staying, leaving] = [await newRoster(store), await newRoster(store)];
  await withClient(url, async (client) => {
    for (const { key } of [staying, leaving]) {
      await client.query(
        `INSERT INTO users (project_id, id, status, metadata, created_at, updated_at, revision)
          SELECT $1, 'u' || n, 'active', '{}', 0, 0, 'r' FROM generate_series(1, ${USERS}) AS n`,
        [key],
      );
      await client.query(
        `INSERT INTO memberships (project_id, group_id, user_id)
          SELECT $1, 'g' || n % 7, 'u' || n FROM generate_series(1, ${USERS}) AS n`,
        [key],
      );
    }
    await client.query('VACUUM ANALYZE');
  });
  return { staying, leaving };
}

const COUNTS = `
  SELECT relname AS table, seq_tup_read::int AS scanned, n_tup_del::int AS removed FROM pg_stat_user_tables
  WHERE relname IN ('memberships', 'users') ORDER BY relname`;

/** For tables as small as these, a join by scan is right. The test is about how the rows of a slice are found. */
const JOIN_BY_INDEX = `
  DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET enable_hashjoin = off', current_database());
    EXECUTE format('ALTER DATABASE %I SET enable_mergejoin = off', current_database());
  END $$`;

test('a deleted project is removed without reading the rows of other projects', { skip: skipsPostgres }, () =>
  withDatabase(async (url) => {
    const { staying, leaving } = await twoProjects(url);
    const counts = () => withClient(url, async (client) => (await client.query(COUNTS)).rows);
    const before = await counts();
    await withClient(url, async (client) => {
      await client.query(JOIN_BY_INDEX);
      await client.query('DELETE FROM projects WHERE project_id = $1', [leaving.key]);
      await client.query('INSERT INTO deleted_projects (project_id) VALUES ($1)', [leaving.key]);
    });
    const database = new PostgresDatabase(parsePostgresUrl(url));
    while (await purgeSlice(database));
    // PostgreSQL counts the work of a connection when it ends.
    await database.close();
    assert.deepEqual(
      await counts(),
      before.map((table) => ({ ...table, removed: USERS })),
    );
    const left = await withClient(url, async (client) => {
      return (await client.query('SELECT DISTINCT project_id FROM users')).rows;
    });
    assert.deepEqual(left, [{ project_id: staying.key }]);
  }),
);

/** A store with group `g` and its thread `t`, which has a message. */
async function withConversation(use: (conversation: Conversation, url: string) => Promise<void>) {
  await withPostgresStore(async (store, url) => {
    const conversation = new Conversation(store, (await newRoster(store)).key);
    await conversation.groupOf('g', 'ann');
    await conversation.newThread('t');
    await conversation.newMessage('t', 'm');
    await use(conversation, url);
  });
}

const messagesLeft = (url: string) =>
  withClient(url, async (client) => (await client.query('SELECT 1 FROM messages')).rowCount);

const deletions: readonly (readonly [what: string, run: (c: Conversation) => Promise<unknown>])[] = [
  ['group', (c) => c.deleteGroup('g')],
  ['thread', (c) => c.deleteThread('t')],
];
for (const [what, run] of deletions) {
  test(
    `the messages of a deleted ${what} are removed at once, not with the next check`,
    { skip: skipsPostgres },
    () =>
      withConversation(async (c, url) => {
        // The store has found nothing to remove when it was opened.
        await run(c);
        await until('no message is left', async () => (await messagesLeft(url)) === 0, BEFORE_CHECK_MS);
      }),
  );
}

test('the conversation of a deleted group is purged by one process at a time', { skip: skipsPostgres }, () =>
  withConversation(async (c, url) => {
    await c.store.close();
    await withClient(url, async (client) => {
      await client.query(`
        INSERT INTO deleted_conversations (project_id, conversation_no)
        SELECT project_id, conversation_no FROM conversations`);
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM deleted_conversations FOR UPDATE');
      await using database = closing(new PostgresDatabase(parsePostgresUrl(url)));
      assert.equal(await new ConversationPurge(database).run(), false);
      await client.query('ROLLBACK');
      assert.equal(await new ConversationPurge(database).run(), true);
    });
  }),
);
