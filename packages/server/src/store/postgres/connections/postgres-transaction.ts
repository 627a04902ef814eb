import type { Call, PostgresConnection, Row } from './postgres-connection.ts';

/** How long the end of a transaction that came to nothing may take, in milliseconds. */
const ROLLBACK_WITHIN_MS = 4_500;
/**
 * After so many characters of parameters the event loop runs before more are made, so that they leave, the server works on
 * them meanwhile, and other connections are read. Some milliseconds of work.
 */
const PIECE_LENGTH = 512 * 1_024;
/** How many statements are sent ahead of their answers, where they are long: bounds the memory that they take. */
const SENT_AHEAD = 4;

type Answers<Calls extends readonly Call[]> = { [Index in keyof Calls]: Row[] };

/** On what terms a transaction runs. */
export interface TransactionTerms {
  /** When a statement that is sent now must have been answered, on the clock of `performance.now()`. */
  until(): number;
  /** Settings of the server for as long as it lasts, as `name = value`. */
  readonly settings: readonly string[];
}

/** A transaction: statements that are sent together are one round trip. It begins with the first of them. */
export class Transaction {
  readonly #connection: PostgresConnection;
  readonly #terms: TransactionTerms;
  #state: 'new' | 'begun' | 'ended' = 'new';

  constructor(connection: PostgresConnection, terms: TransactionTerms) {
    this.#connection = connection;
    this.#terms = terms;
  }

  /** Sends all of them and waits for all answers. @throws the first failure */
  async run<const Calls extends readonly Call[]>(...calls: Calls): Promise<Answers<Calls>> {
    const begun = this.#begin();
    const [, ...answers] = await together([begun, ...calls.map((call) => this.#send(call))]);
    return answers as Answers<Calls>;
  }

  /** The same, and commits in the same round trip. */
  async commit<const Calls extends readonly Call[]>(...calls: Calls): Promise<Answers<Calls>> {
    const sent = [this.#begin(), ...calls.map((call) => this.#send(call)), this.#commit()];
    return (await together(sent)).slice(1, -1) as Answers<Calls>;
  }

  /**
   * Sends statements as they are made and gives their answers, in order. However long the lists of all of them are, only
   * some are in memory at once, and the event loop goes on. Short ones are one round trip.
   */
  async *runEach(calls: Iterable<Call>): AsyncGenerator<Row[]> {
    const begun = this.#begin();
    begun.catch(() => {});
    const sent = [begun];
    try {
      let length = 0;
      for (const call of calls) {
        sent.push(this.#send(call));
        length += lengthOf(call);
        if (length < PIECE_LENGTH) continue;
        length = 0;
        await new Promise(setImmediate);
        while (sent.length > SENT_AHEAD) yield await (sent.shift() as Promise<Row[]>);
      }
      while (sent.length > 0) yield await (sent.shift() as Promise<Row[]>);
    } finally {
      await Promise.allSettled(sent);
    }
  }

  /** Sends statements like {@link runEach} and commits, in one round trip where they are short. */
  async commitEach(calls: Iterable<Call>): Promise<void> {
    let committed: Promise<Row[]> | undefined;
    const commit = () => {
      committed = this.#commit();
      // Whatever comes before it has failed then, and is reported instead.
      committed.catch(() => {});
    };
    for await (const _ of this.runEach(followedBy(calls, commit)));
    await committed;
  }

  /** Rolls back what was not committed. Nobody waits for it: the connection answers in order. */
  end(): void {
    if (this.#state === 'begun') {
      this.#connection.control('ROLLBACK', performance.now() + ROLLBACK_WITHIN_MS).catch(() => {});
    }
    this.#state = 'ended';
  }

  async #begin(): Promise<Row[]> {
    if (this.#state !== 'new') return [];
    this.#state = 'begun';
    const { settings } = this.#terms;
    const texts = ['BEGIN ISOLATION LEVEL READ COMMITTED', ...settings.map((each) => `SET LOCAL ${each}`)];
    return this.#connection.control(texts.join('; '), this.#terms.until());
  }

  #commit(): Promise<Row[]> {
    this.#state = 'ended';
    return this.#connection.control('COMMIT', this.#terms.until());
  }

  #send(call: Call): Promise<Row[]> {
    const sent = this.#connection.run(call, this.#terms.until());
    // An earlier failure may be reported in its place.
    sent.catch(() => {});
    return sent;
  }
}

function* followedBy<Item>(items: Iterable<Item>, then: () => void): Generator<Item> {
  yield* items;
  then();
}

function lengthOf([, ...parameters]: Call): number {
  return parameters.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}

/** Waits for all, so that none is left behind. @throws the first failure: those after it only follow from it */
async function together(sent: readonly Promise<Row[]>[]): Promise<Row[][]> {
  const settled = await Promise.allSettled(sent);
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.map((each) => (each as PromiseFulfilledResult<Row[]>).value);
}
