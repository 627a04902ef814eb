import type { GroupRecord } from '../store/ports/groups.ts';
import type { Json } from '../values/json.ts';
import { groupAfterMembers, groupBeforeMembers } from '../wire/presenters.ts';
import type { Pieces } from './reply.ts';

/** A group with its members; in pieces where they are many. */
export function groupBody(group: GroupRecord): string | Pieces {
  const { members } = group;
  if (typeof members === 'string') return groupBeforeMembers(group) + members + groupAfterMembers(group);
  return { pieces: pieces(group, members), release: () => releaseMembers(group) };
}

async function* pieces(group: GroupRecord, members: AsyncIterable<Json>): AsyncGenerator<string, void, void> {
  yield groupBeforeMembers(group);
  yield* members;
  yield groupAfterMembers(group);
}

/** Releases what the store retains for a member list that is not read to its end. */
export async function releaseMembers({ members }: GroupRecord): Promise<void> {
  if (typeof members !== 'string') await members[Symbol.asyncIterator]().return?.();
}
