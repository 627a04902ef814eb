import type { PostgresDatabase } from '../../src/store/postgres/connections/postgres-database.ts';
import { ConversationPurge } from '../../src/store/postgres/postgres-conversation-purge.ts';
import { purgeSlice } from '../../src/store/postgres/postgres-purge.ts';

/** Removes all that deletions have left. No other purge may be running: what it is removing is skipped here. */
export async function purgeAll(database: PostgresDatabase): Promise<void> {
  while (await purgeSlice(database));
  const conversations = new ConversationPurge(database);
  while (await conversations.run());
}
