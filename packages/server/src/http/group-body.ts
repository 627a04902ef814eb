import type { GroupRecord } from '../store/ports/groups.ts';
import type { Json } from '../values/json.ts';
import { groupAfterMembers, groupBeforeMembers } from '../wire/presenters.ts';
import type { Pieces } from './reply.ts';

/** A group with its members; in pieces where they are many. */
export function groupBody(group: GroupRecord): string | Promise<Pieces> {
  const { members } = group;
  if (typeof members === 'string') return groupBeforeMembers(group) + members + groupAfterMembers(group);
  return groupPieces(group, members);
}

/** The first piece is read here, so that a failure has a status. */
async function groupPieces(group: GroupRecord, members: AsyncIterable<Json>): Promise<Pieces> {
  const iterator = members[Symbol.asyncIterator]();
  const { value: first = '' } = await iterator.next();
  return { pieces: pieces(group, first, iterator), release: () => iterator.return?.() };
}

async function* pieces(
  group: GroupRecord,
  first: Json,
  rest: AsyncIterator<Json>,
): AsyncGenerator<string, void, void> {
  yield groupBeforeMembers(group) + first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  yield groupAfterMembers(group);
}

/** Releases what the store retains for a member list that is not read. */
export async function releaseMembers({ members }: GroupRecord): Promise<void> {
  if (typeof members === 'string') return;
  const iterator = members[Symbol.asyncIterator]();
  // An iterator that was never started has nothing to end.
  await iterator.next();
  await iterator.return?.();
}
