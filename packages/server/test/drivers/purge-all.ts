import { PostgresDatabase } from '../../src/store/postgres/connections/postgres-database.ts';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { ConversationPurge } from '../../src/store/postgres/conversation/postgres-conversation-purge.ts';
import { purgeSlice } from '../../src/store/postgres/postgres-purge.ts';
import { closing } from '../support/closing.ts';
import { rows } from './postgres-conversation.ts';

/** Removes all that deletions have left. No other purge may be running: what it is removing is skipped here. */
export async function purgeAll(database: PostgresDatabase): Promise<void> {
  while (await purgeSlice(database));
  const conversations = new ConversationPurge(database);
  while (await conversations.run());
}

export async function withPurge(
  url: string,
  use: (database: PostgresDatabase) => Promise<void>,
): Promise<void> {
  await using database = closing(new PostgresDatabase(parsePostgresUrl(url)));
  await use(database);
}

const isPurgeDue = async (url: string) =>
  (await rows(url, 'SELECT 1 FROM deleted_conversations UNION ALL SELECT 1 FROM deleted_threads')).length > 0;

/** The same, also while a store purges too: what it is removing is left to it. */
export const purgeToTheEnd = (url: string): Promise<void> =>
  withPurge(url, async (database) => {
    do await purgeAll(database);
    while (await isPurgeDue(url));
  });
