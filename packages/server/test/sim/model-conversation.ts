/** What threads and messages of the naive model share. */
import type { ThreadListRequest } from '../../src/store/ports/threads.ts';
import type { ConditionalContext } from '../../src/store/write-context.ts';
import type { ShownMessage } from '../contract/store/conversation.ts';
import type { World } from './model-world.ts';

type Mutable<Value> = { -readonly [Field in keyof Value]: Value[Field] };

/** Without positions, which the model does not count. */
export interface ModelMessage extends Mutable<ShownMessage> {
  /** The order of arrival in the thread. */
  arrival: number;
  markdownLength: number | null;
}

export interface ModelThread {
  /** The order of creation in the project. */
  arrival: number;
  id: string;
  groupId: string;
  name: string;
  url: string | null;
  location: string | null;
  metadata: string;
  resolvedAt: number | null;
  createdAt: number;
  revision: string;
  messages: ModelMessage[];
  arrivals: number;
  /** Up to when users have seen it. */
  seen: Map<string, number>;
}

export const STALE = { kind: 'stale' } as const;
export const ABSENT = { kind: 'absent' } as const;
export const THREAD_ABSENT = { kind: 'threadAbsent' } as const;

export const lastMessageAt = ({ messages }: ModelThread) =>
  messages.length === 0 ? null : Math.max(...messages.map(({ createdAt }) => createdAt));

type Position = readonly [time: number, arrival: number];
export const compare = (a: Position, b: Position) => a[0] - b[0] || a[1] - b[1];

/** A page of what is in order: `sign` is 1 where positions ascend. */
export function cut<Entry>(
  all: readonly Entry[],
  { after, limit, maxBytes }: Pick<ThreadListRequest, 'after' | 'limit' | 'maxBytes'>,
  positionOf: (entry: Entry) => Position,
  sign: number,
  sizeOf: (entry: Entry) => number,
): { taken: Entry[]; last: string | null } {
  const start = after?.split(' ').map(Number) as [number, number] | undefined;
  const rest = all.filter((entry) => start === undefined || sign * compare(positionOf(entry), start) > 0);
  const taken: Entry[] = [];
  for (let bytes = 0; taken.length < Math.min(limit, rest.length) && bytes <= maxBytes; ) {
    const entry = rest[taken.length] as Entry;
    taken.push(entry);
    bytes += sizeOf(entry);
  }
  const end = taken.at(-1);
  return {
    taken,
    last: end === undefined || taken.length === rest.length ? null : positionOf(end).join(' '),
  };
}

export const missingOf = (fields: Readonly<Record<string, unknown>>) =>
  Object.keys(fields).filter((field) => fields[field] === undefined);

export const futureOf = (
  { now }: ConditionalContext,
  times: Readonly<Record<string, number | undefined>>,
) => {
  const fields = Object.keys(times).filter((field) => (times[field] ?? now) > now);
  return fields.length === 0 ? null : ({ kind: 'futureTimes', fields } as const);
};

export const fixedOf = (
  { ifNoneMatch }: ConditionalContext,
  ...fields: readonly (readonly [field: string, supplied: unknown, stored: unknown])[]
) => {
  const found = fields.filter(([, supplied, stored]) => supplied !== undefined && supplied !== stored);
  if (ifNoneMatch === '*' || found.length === 0) return null;
  return { kind: 'fixedFields', fields: found.map(([field]) => field) } as const;
};

export function unavailable(world: World, groupId: string, createdAt: number | undefined) {
  const group = world.groups.get(groupId);
  if (group === undefined) return { kind: 'groupUnavailable', groupId, isDeleted: false } as const;
  if (group.status === 'active' || createdAt !== undefined) return null;
  return { kind: 'groupUnavailable', groupId, isDeleted: true } as const;
}

/** The names of the fields in which two states differ, as the API has them. */
export function differences<State extends object>(
  before: State,
  after: State,
  names: readonly (keyof State)[],
): string[] {
  const renamed: Readonly<Record<string, string>> = { resolvedAt: 'resolved', deletedAt: 'deleted' };
  return names
    .filter((name) => before[name] !== after[name])
    .map((name) => renamed[String(name)] ?? String(name));
}

export function see(thread: ModelThread, userId: string, at: number): boolean {
  if ((thread.seen.get(userId) ?? Number.NEGATIVE_INFINITY) >= at) return false;
  thread.seen.set(userId, at);
  return true;
}
