import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { GroupRecord, Json } from '../store/store.ts';
import { bodyStream } from './body-stream.ts';
import { groupAfterMembers, groupBeforeMembers } from './present.ts';

/** A group as its reading shows it; streamed where its members are many. */
export function groupBody(
  group: GroupRecord,
  request: FastifyRequest,
  log: Logger,
): string | Promise<Readable> {
  const { members } = group;
  if (typeof members === 'string') return groupBeforeMembers(group) + members + groupAfterMembers(group);
  return streamedGroup(group, members, request, log);
}

/** The first piece is read here, so that a failure has a status. */
async function streamedGroup(
  group: GroupRecord,
  members: AsyncIterable<Json>,
  request: FastifyRequest,
  log: Logger,
): Promise<Readable> {
  const iterator = members[Symbol.asyncIterator]();
  const { value: first = '' } = await iterator.next();
  const stream = bodyStream(groupPieces(group, first, iterator), request, log);
  // Also for a reader who leaves before the pieces have been asked for: what the store holds for them is given back.
  return stream.once('close', () => void iterator.return?.());
}

async function* groupPieces(
  group: GroupRecord,
  first: Json,
  rest: AsyncIterator<Json>,
): AsyncGenerator<string, void, void> {
  yield groupBeforeMembers(group) + first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  yield groupAfterMembers(group);
}

/** Gives back what the store holds for a member list that nobody is going to read. */
export async function leaveUnread({ members }: GroupRecord): Promise<void> {
  if (typeof members === 'string') return;
  const iterator = members[Symbol.asyncIterator]();
  // An iterator that was never started has nothing to end.
  await iterator.next();
  await iterator.return?.();
}
