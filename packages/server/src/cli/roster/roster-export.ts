import { Readable } from 'node:stream';
import type { Group, GroupEntry, Static, User } from '@rollcall/protocol';
import type { ApiConnection } from './api-connection.ts';
import { pathSegment } from './api-path.ts';
import { type ConversationCounts, exportConversations } from './conversation-export.ts';
import { lineText, metadataOf } from './line-text.ts';
import { listPages } from './list-pages.ts';

export interface ExportCounts extends ConversationCounts {
  users: number;
  groups: number;
}

/**
 * A project as the text of a roster file: users, then groups, each in order of ID, then threads with their messages.
 * Read page by page: what is created or removed in the meantime may be missing.
 * @param concurrency how many groups, and threads, are read at once
 */
export async function* exportRoster(
  connection: ApiConnection,
  concurrency: number,
  counts: ExportCounts,
): AsyncGenerator<string> {
  for await (const page of listPages(connection, '/v1/users')) {
    const { users } = page as { users: User[] };
    counts.users += users.length;
    yield users.map(userLine).join('');
  }
  const groups = Readable.from(groupIds(connection)).map(
    async (id) => [await connection.find(`/v1/groups/${pathSegment(id)}`)],
    { concurrency },
  );
  for await (const [group] of groups as AsyncIterable<[Group | null]>) {
    // It was deleted since it was listed.
    if (group === null) continue;
    counts.groups += 1;
    yield groupLine(group);
  }
  yield* exportConversations(connection, concurrency, counts);
}

async function* groupIds(connection: ApiConnection): AsyncGenerator<string> {
  for await (const page of listPages(connection, '/v1/groups'))
    for (const { id } of page as Static<typeof GroupEntry>[]) yield id;
}

/** Fields with default values are left out, so that an imported file is exported as it was. */
function userLine({ id, name, short_name, email, profile_picture_url, status, metadata }: User): string {
  const texts = Object.entries({ name, short_name, email, profile_picture_url }).filter(
    ([, value]) => value !== null,
  );
  return lineText({
    type: 'user',
    id,
    ...Object.fromEntries(texts),
    ...statusOf(status),
    ...metadataOf(metadata),
  });
}

function groupLine({ id, name, status, members, metadata }: Group): string {
  return lineText({ type: 'group', id, name, ...statusOf(status), members, ...metadataOf(metadata) });
}

const statusOf = (status: string) => (status === 'active' ? {} : { status });
