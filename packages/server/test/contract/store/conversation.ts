/** A project with groups whose users talk, and how the suites of threads and messages write to it and read it back. */
import assert from 'node:assert/strict';
import { limits } from '@rollcall/protocol';
import type { Change } from '../../../src/store/changes/changes.ts';
import {
  MARKDOWN_END,
  type MessageAppend,
  type MessageListRequest,
  type MessageRecord,
  type StoredContent,
  type StoredMessageWrite,
} from '../../../src/store/ports/messages.ts';
import type {
  SeenMark,
  StoredThreadWrite,
  ThreadListRequest,
  ThreadRecord,
} from '../../../src/store/ports/threads.ts';
import type { Store } from '../../../src/store/store.ts';
import type { ConditionalContext } from '../../../src/store/write-context.ts';
import type { ProjectKey } from '../../../src/values/project-key.ts';
import { recordsAfter } from '../../support/recorded.ts';
import { changeTexts } from './entries.ts';
import { newRoster, Roster, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

/** The parts of a write's context that a test sets. The others are the next second, the next revision, and no condition. */
export type Given = Partial<ConditionalContext>;

/** Content to which texts can be appended. */
export function markdown(text: string): StoredContent {
  const escaped = JSON.stringify(text).slice(1, -1);
  return {
    json: `[{"type":"markdown","children":[{"text":"${escaped}${MARKDOWN_END}`,
    markdownLength: [...text].length,
    userIds: [],
  };
}

/** Content that is one text, and names users. */
export function plain(text: string, ...userIds: readonly string[]): StoredContent {
  return { json: JSON.stringify([{ text }]), markdownLength: null, userIds };
}

/** The text of content that is one markdown node. */
export const textOf = (content: string): string => JSON.parse(content)[0].children[0].text;

/** A time of the past: of what a write imports. */
export const EARLIER = START - 1_000_000;
/** A write that creates a message. */
export const NEW = { authorId: 'ann', content: plain('new') };
export const STALE = { kind: 'stale' };
export const THREAD_ABSENT = { kind: 'threadAbsent' };
/** Of the group `shut`, which is deleted. */
export const SHUT = { kind: 'groupUnavailable', groupId: 'shut', isDeleted: true };

export function appended(text: string, offset: number | null = null): MessageAppend {
  return { escaped: JSON.stringify(text).slice(1, -1), length: [...text].length, offset };
}

/**
 * Group `g` has ann, bob and the deleted user `off`, group `h` has ann, and group `shut` is deleted and has ann and bob.
 * cid is in no group.
 */
export class Conversation extends Roster {
  static async in(lab: Pick<StoreLab, 'store'>): Promise<Conversation> {
    const { store, key } = await newRoster(lab.store);
    return Conversation.of(store, key);
  }

  /** The groups and users of a project that has none. */
  static async of(store: Store, key: ProjectKey): Promise<Conversation> {
    const conversation = new Conversation(store, key);
    await conversation.groupOf('g', 'ann', 'bob', 'off');
    await conversation.groupOf('h', 'ann');
    await conversation.groupOf('shut', 'ann', 'bob');
    await conversation.putGroup('shut', { status: 'deleted' });
    await conversation.users('cid');
    await conversation.putUser('off', { status: 'deleted' });
    return conversation;
  }

  /** A conversation with the thread `t` of group `g`. */
  static async withThread(lab: StoreLab): Promise<Conversation> {
    const conversation = await Conversation.in(lab);
    await conversation.newThread('t');
    return conversation;
  }

  putThread(id: string, write: StoredThreadWrite, given: Given = {}) {
    return this.store.threads.put(this.key, id, write, { ...this.next(), ...given });
  }

  /** A thread of group `g` that must be created. */
  async newThread(id: string, write: StoredThreadWrite = {}, given: Given = {}): Promise<void> {
    const { kind } = await this.putThread(id, { groupId: 'g', name: id, ...write }, given);
    assert.equal(kind, 'created');
  }

  findThread(id: string, viewer: string | null = null): Promise<ThreadRecord | null> {
    return this.store.threads.find(this.key, id, viewer);
  }

  async thread(id: string, viewer: string | null = null): Promise<ThreadRecord> {
    return (await this.findThread(id, viewer)) ?? assert.fail(`thread ${id} exists`);
  }

  deleteThread(id: string, given: Given = {}) {
    return this.store.threads.delete(this.key, id, { ...this.next(), ...given });
  }

  markSeen(id: string, userId: string, messageId: string | null = null, given: Given = {}) {
    return this.mark(id, { userId, messageId }, given);
  }

  mark(id: string, seen: SeenMark, given: Given = {}) {
    return this.store.threads.markSeen(this.key, id, seen, { ...this.next(), ...given });
  }

  listThreads(request: Partial<ThreadListRequest> & Partial<ThreadListRequest['filter']> = {}) {
    const { groupId = null, location = null, resolved = null, ...rest } = request;
    return this.store.threads.list(this.key, {
      filter: { groupId, location, resolved },
      ...{ after: null, limit: 1_000, maxBytes: limits.CONVERSATION_PAGE_MAX_BYTES, viewer: null },
      ...rest,
    });
  }

  /** The IDs of all threads of a list, page by page. */
  async threadIds(request: Parameters<Conversation['listThreads']>[0] = {}): Promise<string[]> {
    const ids: string[] = [];
    let after: string | null = null;
    do {
      const page: Awaited<ReturnType<Conversation['listThreads']>> = await this.listThreads({
        ...request,
        after,
      });
      ids.push(...page.threads.map(({ id }) => id));
      after = page.last;
      assert.ok(after === null || /^[\x20-\x7e]{1,100}$/.test(after), `${after} can stand in a token`);
    } while (after !== null);
    return ids;
  }

  putMessage(thread: string, id: string, write: StoredMessageWrite, given: Given = {}) {
    return this.store.messages.put(this.key, thread, id, write, { ...this.next(), ...given });
  }

  /** A message of ann that must be created. */
  async newMessage(
    thread: string,
    id: string,
    write: StoredMessageWrite = {},
    given: Given = {},
  ): Promise<void> {
    const outcome = await this.putMessage(
      thread,
      id,
      { authorId: 'ann', content: plain(id), ...write },
      given,
    );
    assert.equal(outcome.kind, 'created', JSON.stringify(outcome));
  }

  /** A message as the API shows it; see {@link withoutPosition}. */
  async findMessage(thread: string, id: string) {
    const found = await this.store.messages.find(this.key, thread, id);
    return found.kind === 'found' ? { ...found, message: withoutPosition(found.message) } : found;
  }

  async message(thread: string, id: string): Promise<ShownMessage> {
    const found = await this.findMessage(thread, id);
    assert.ok(found.kind === 'found', `message ${id} exists`);
    return found.message;
  }

  deleteMessage(thread: string, id: string, given: Given = {}) {
    return this.store.messages.delete(this.key, thread, id, { ...this.next(), ...given });
  }

  append(thread: string, id: string, append: MessageAppend, given: Given = {}) {
    return this.store.messages.append(this.key, thread, id, append, { ...this.next(), ...given });
  }

  async listMessages(thread: string, request: Partial<MessageListRequest> = {}) {
    const page = await this.store.messages.list(this.key, thread, {
      ...{ order: 'ascending', after: null, limit: 1_000, maxBytes: limits.CONVERSATION_PAGE_MAX_BYTES },
      ...request,
    });
    if (page === null) return null;
    const { at: _, ...shown } = page;
    return { ...shown, messages: page.messages.map(withoutPosition) };
  }

  changesSince(thread: string, position: number) {
    return this.store.conversationFeed.changesSince(this.key, thread, position);
  }

  /** The IDs of all messages of a thread, page by page. */
  async messageIds(thread: string, request: Partial<MessageListRequest> = {}): Promise<string[]> {
    const ids: string[] = [];
    let after: string | null = null;
    do {
      const page: Awaited<ReturnType<Conversation['listMessages']>> = await this.listMessages(thread, {
        ...request,
        after,
      });
      assert.ok(page, `thread ${thread} exists`);
      ids.push(...page.messages.map(({ id }) => id));
      after = page.last;
      assert.ok(after === null || /^[\x20-\x7e]{1,100}$/.test(after), `${after} can stand in a token`);
    } while (after !== null);
    return ids;
  }

  /** User messages, action messages and deleted messages of a thread. */
  async counts(thread: string): Promise<readonly [number, number, number]> {
    const { userMessages, actionMessages, deletedMessages } = await this.thread(thread);
    return [userMessages, actionMessages, deletedMessages];
  }

  /** Everything that is recorded of threads and messages, as `message.updated g t m content`. */
  async recorded(): Promise<string[]> {
    const records = await recordsAfter(this.store, this.key);
    return conversationTexts(records.flatMap(({ changes }) => changes));
  }
}

/** Most writes that are sent at once: an engine rejects those that would have to wait for seconds. */
const BATCH = 8;

/** Runs `write` for each ID, some at once. */
export async function inBatches(
  ids: readonly string[],
  write: (id: string) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < ids.length; from += BATCH)
    await Promise.all(ids.slice(from, from + BATCH).map(write));
}

/** A message without what only streams read of it. */
export type ShownMessage = Omit<MessageRecord, 'position' | 'writtenPosition' | 'markdownLength'>;

export function withoutPosition(message: MessageRecord): ShownMessage {
  const { position: _p, writtenPosition: _w, markdownLength: _m, ...shown } = message;
  return shown;
}

/** Changes of threads and messages as texts: those of groups, users and members are left out. */
const conversationTexts = (changes: readonly Change[]): string[] =>
  changeTexts(changes.filter((change) => 'thread' in change));

export function textsOf(outcome: object): string[] {
  assert.ok('changes' in outcome, `${JSON.stringify(outcome)} has changes`);
  return conversationTexts(outcome.changes as readonly Change[]);
}
