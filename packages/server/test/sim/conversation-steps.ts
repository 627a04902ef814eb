/** Random operations on threads and messages. */
import type { StoredMessageWrite } from '../../src/store/ports/messages.ts';
import type { StoredThreadWrite } from '../../src/store/ports/threads.ts';
import type { ConditionalContext } from '../../src/store/write-context.ts';
import { appended, markdown, plain } from '../contract/store/conversation.ts';
import type { Random } from './random.ts';
import { GROUPS, LOCATIONS, METADATA, NAMED, NAMES, type Step, step, USERS } from './steps.ts';

export const THREADS = ['t', "t'2", '\u{1d306}'] as const;
export const MESSAGES = ['m', 'n', '\u{1f600}'] as const;
const TEXTS = ['x', 'é"', '\u{1f600}', ''];
const URLS = ['http://example.org/', 'http://example.org/2', null];
/** How often a field that never changes has the value that other writes give it too. */
const SAME = 0.9;

/** Draws operations on the threads and messages of one project. */
export class ConversationSteps {
  readonly #random: Random;
  readonly #context: (condition?: object) => ConditionalContext;

  constructor(random: Random, context: (condition?: object) => ConditionalContext) {
    this.#random = random;
    this.#context = context;
  }

  write(): Step {
    const draw = this.#random.next() * 100;
    if (draw < 20) return this.#putThread();
    if (draw < 62) return this.#putMessage();
    if (draw < 80) return this.#append();
    if (draw < 91) return this.#markSeen();
    return draw < 97 ? this.#deleteMessage() : this.#deleteThread();
  }

  #putThread(): Step {
    const [thread, context] = [this.#random.below(THREADS.length), this.#context()];
    const id = THREADS[thread] as string;
    const write = {
      ...this.#threadWrite(thread),
      ...this.#random.sparse({ inGroup: this.#random.pick(GROUPS) }, 0.9),
    };
    return step('putThread', [id, write, context], (store, project) =>
      store.threads.put(project, id, write, context),
    );
  }

  #threadWrite(thread: number): StoredThreadWrite {
    const random = this.#random;
    const fields = {
      groupId: random.chance(SAME) ? GROUPS[thread] : random.pick([...GROUPS, 'none']),
      name: random.pick(NAMES),
      url: random.pick(URLS),
      location: random.pick([...LOCATIONS, null]),
      metadata: JSON.stringify(random.pick(METADATA)),
      resolved: random.chance(0.5),
    };
    const { groupId, name, ...others } = fields;
    return {
      ...random.sparse({ groupId, name }, 0.1),
      ...random.sparse(others, 0.4),
      ...random.sparse({ createdAt: 500 }, 0.5),
      ...random.sparse({ resolvedAt: 600 }, 0.9),
    };
  }

  #putMessage(): Step {
    const random = this.#random;
    const [thread, message, context] = [
      random.below(THREADS.length),
      random.below(MESSAGES.length),
      this.#context(),
    ];
    const [threadId, id] = [THREADS[thread] as string, MESSAGES[message] as string];
    const text = random.pick(TEXTS);
    const content = random.chance(0.6) ? markdown(text) : plain(text, ...new Set(random.some(NAMED, 2)));
    const fields: StoredMessageWrite = {
      type: random.pick(['user_message', 'action_message']),
      url: random.pick(URLS),
      metadata: JSON.stringify(random.pick(METADATA)),
      deleted: random.chance(0.3),
    };
    const write: StoredMessageWrite = {
      authorId: random.chance(SAME) ? (USERS[message] as string) : random.pick(NAMED),
      ...random.sparse({ content }, 0.15),
      ...random.sparse(fields, 0.4),
      ...random.sparse({ createdAt: 1_000 * (message + 1) }, 0.5),
      ...random.sparse({ updatedAt: 700, deletedAt: 800 }, 0.95),
      ...random.sparse({ createThread: this.#threadWrite(thread) }, 0.3),
      ...random.sparse({ inGroup: random.pick(GROUPS), ofAuthor: USERS[message] as string }, 0.9),
    };
    return step('putMessage', [threadId, id, write, context], (store, project) =>
      store.messages.put(project, threadId, id, write, context),
    );
  }

  #append(): Step {
    const random = this.#random;
    const [threadId, id, context] = [random.pick(THREADS), random.pick(MESSAGES), this.#context()];
    const append = appended(random.pick(TEXTS), random.chance(0.3) ? random.below(4) : null);
    return step('append', [threadId, id, append, context], (store, project) =>
      store.messages.append(project, threadId, id, append, context),
    );
  }

  #markSeen(): Step {
    const random = this.#random;
    const [threadId, userId] = [random.pick(THREADS), random.pick(USERS)];
    const [messageId, context] = [random.pick([...MESSAGES, null]), this.#context()];
    const inGroup = random.chance(0.3) ? { inGroup: random.pick(GROUPS) } : {};
    const mark = { userId, messageId, ...inGroup };
    return step('markSeen', [threadId, mark, context], (store, project) =>
      store.threads.markSeen(project, threadId, mark, context),
    );
  }

  #deleteMessage(): Step {
    const [threadId, id] = [this.#random.pick(THREADS), this.#random.pick(MESSAGES)];
    const context = this.#context();
    return step('deleteMessage', [threadId, id, context], (store, project) =>
      store.messages.delete(project, threadId, id, context),
    );
  }

  #deleteThread(): Step {
    const [id, context] = [this.#random.pick(THREADS), this.#context()];
    return step('deleteThread', [id, context], (store, project) =>
      store.threads.delete(project, id, context),
    );
  }
}
