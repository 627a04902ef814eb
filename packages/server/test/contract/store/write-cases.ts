/** The writes of the Store, as the contract of recorded changes runs them. */
import assert from 'node:assert/strict';
import type { Change } from '../../../src/store/changes/changes.ts';
import type { Precondition } from '../../../src/store/precondition.ts';
import type { STORE_WRITES, Store } from '../../../src/store/store.ts';
import type { ConditionalContext, Origin } from '../../../src/store/write-context.ts';
import { Conversation, markdown } from './conversation.ts';
import { START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export type Write = (caller: Conversation) => Promise<unknown>;

/** A write, and its changes as `changeTexts` has them. `prepare` runs before it, as another caller. */
export type Recorded = readonly [what: string, write: Write, changes: readonly string[], prepare?: Write];

/** A write that records nothing, and the kind of its outcome; null where the outcome has none. */
export type Unrecorded = readonly [what: string, write: Write, kind: string | null, prepare?: Write];

type NeverRecorded = { readonly unrecorded: readonly [Unrecorded, ...Unrecorded[]] };

/** A write whose outcome can have changes has cases of both sorts. */
type CasesOf<Method> = Method extends (...parameters: never[]) => Promise<infer Outcome>
  ? [Extract<Outcome, { readonly changes: readonly Change[] }>] extends [never]
    ? NeverRecorded
    : NeverRecorded & { readonly recorded: readonly Recorded[] }
  : never;

type Writes = typeof STORE_WRITES;

/** Cases of every write of the ports. */
export type WriteCases = {
  readonly [Port in keyof Writes]: {
    readonly [Name in Writes[Port][number] & keyof Store[Port]]: CasesOf<Store[Port][Name]>;
  };
};

/** Writes with an origin of their own. */
export class Caller extends Conversation {
  readonly #origin: Origin;
  #last: ConditionalContext | null = null;

  constructor({ store, key, writes }: Conversation, name: string) {
    super(store, key, writes);
    this.#origin = {
      actor: { kind: 'client_token', id: `user of ${name}` },
      requestId: `request of ${name}`,
    };
  }

  /** The context of the last write. */
  get last(): ConditionalContext {
    return this.#last ?? assert.fail('the caller has written');
  }

  override next(condition?: Precondition): ConditionalContext {
    this.#last = { ...super.next(condition), ...this.#origin };
    return this.#last;
  }
}

export const sessionOf = ({ key }: Conversation) => `session of ${key}`;

/**
 * Group `g` has ann, bob, cid, the thread `t` and its message `m`; `h` has ann; dan is in no group; user `off` and group `shut`
 * are deleted. There is a session.
 */
export async function stockOf(lab: StoreLab): Promise<Conversation> {
  const { store, key } = await lab.project();
  const stock = new Conversation(store, key);
  await stock.groupOf('g', 'ann', 'bob', 'cid');
  await stock.groupOf('h', 'ann');
  await stock.users('dan');
  await stock.putUser('off', { status: 'deleted' });
  await stock.putGroup('shut', { name: 'Shut', status: 'deleted' });
  await stock.newThread('t', { url: 'https://example.org', location: '{"p":"1"}', metadata: '{"a":1}' });
  await stock.newMessage('t', 'm', { content: markdown('M'), url: 'https://example.org' });
  await store.sessions.create(key, { id: sessionOf(stock), expiresAt: START }, stock.next());
  return stock;
}

/** The same, and the webhook `w`. */
export async function stockWithWebhook(lab: StoreLab): Promise<Conversation> {
  const stock = await stockOf(lab);
  const { store, key } = stock;
  const webhook = { url: 'https://w.invalid/', secret: 's', start: { position: 0, index: 0 } };
  await store.webhooks.put(key, 'w', webhook, 2, stock.next());
  return stock;
}
