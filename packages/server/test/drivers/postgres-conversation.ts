/** Conversations in a database of their own, and its rows. */
import { listKeys } from '../../src/store/postgres/conversation/postgres-conversation-lists.ts';
import { Conversation } from '../contract/store/conversation.ts';
import { newRoster } from '../contract/store/roster.ts';
import { withClient } from '../support/postgres.ts';
import { withPostgresStore } from './postgres-stores.ts';

export const TABLES = [
  ...['conversations', 'deleted_conversations', 'threads', 'deleted_threads', 'thread_ids', 'thread_lists'],
  ...['messages', 'message_ids', 'message_pieces', 'message_positions', 'removed_messages'],
  ...['participants', 'participant_times'],
];

/** A conversation of a revision of its own for each write, with the groups `g` and `h` of ann, in a database of its own. */
export function withConversation(
  use: (conversation: Conversation, url: string) => Promise<void>,
): Promise<void> {
  return withPostgresStore(async (store, url) => {
    const conversation = new Conversation(store, (await newRoster(store)).key);
    await conversation.groupOf('g', 'ann');
    await conversation.groupOf('h', 'ann');
    await use(conversation, url);
  });
}

export const rows = (url: string, sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  withClient(url, async (client) => (await client.query(sql, values)).rows);

/** The tables of conversations that have rows, with how many. */
export async function counts(url: string): Promise<Record<string, number>> {
  const found = await rows(
    url,
    TABLES.map((t) => `SELECT '${t}' AS name, count(*)::int AS rows FROM ${t}`).join(' UNION ALL '),
  );
  return Object.fromEntries(found.filter((row) => row.rows !== 0).map((row) => [row.name, row.rows]));
}

const ALIVE = 'threads t JOIN conversations c USING (project_id, group_id, conversation_no)';
/** Participants who are in one of their two tables only. */
export const PARTICIPANTS_LISTED_WRONG = `
  SELECT user_id FROM participants FULL JOIN participant_times USING (project_id, thread_no, user_id, last_seen_at)
  WHERE participants.thread_no IS NULL OR participant_times.thread_no IS NULL`;

/** The lists of the threads that are found, as they are. */
export async function listed(url: string): Promise<string[]> {
  const found = await rows(
    url,
    `SELECT l.thread_no, l.conversation_no, l.location_key, l.resolved, l.activity
     FROM thread_lists l JOIN (SELECT t.project_id, t.thread_no FROM ${ALIVE}) AS t USING (project_id, thread_no)`,
  );
  return found.map((row) => Object.values(row).join(' ')).sort();
}

/** The same, as they follow from the threads. */
export async function derived(url: string): Promise<string[]> {
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
