/** The threads and messages that are measured. IDs look like digests. */
import { createHash } from 'node:crypto';
import { groupId, groupMembers, SMALL } from './dataset.ts';

/** Threads of the groups of {@link SMALL}, with as many messages each. */
export interface Conversation {
  /** A group has so many threads at least, so that a page of a small store is as long as one of a large store. */
  readonly threads: number;
  readonly messages: number;
}

/** The last group is deleted. */
export const DOOMED_GROUP = SMALL.groups - 1;
export const THREADS_PER_GROUP = 10;
export const SMALL_CONVERSATION: Conversation = { threads: 20, messages: 1_000 };

/** A part of a store: threads of some groups, with as many messages each. */
export interface Threads {
  /** Begins their IDs. */
  readonly name: string;
  readonly firstGroup: number;
  readonly groups: number;
  readonly threads: number;
  readonly messagesPerThread: number;
}

/** All threads of the conversation. */
export const threadsOf = ({ threads, messages }: Conversation): Threads => ({
  name: 'thread',
  firstGroup: 0,
  groups: Math.min(DOOMED_GROUP, Math.ceil(threads / THREADS_PER_GROUP)),
  threads,
  messagesPerThread: Math.floor(messages / threads),
});

const digest = (text: string) => createHash('md5').update(text).digest('hex');

export const threadId = ({ name }: Threads, index: number): string => `${name}-${digest(`${index}`)}`;
export const messageId = (thread: string, seq: number): string => digest(`${thread} ${seq}`);
/** The number of a thread's group. */
const groupIndex = ({ firstGroup, groups }: Threads, index: number) => firstGroup + (index % groups);
export const groupOf = (part: Threads, index: number): string => groupId(groupIndex(part, index));
export const authorsIn = (part: Threads, index: number): string[] =>
  groupMembers(SMALL, groupIndex(part, index));
