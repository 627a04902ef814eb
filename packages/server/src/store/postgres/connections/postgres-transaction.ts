import type { Call, PostgresConnection, Row } from './postgres-connection.ts';

/** How long the end of a transaction that came to nothing may take, in milliseconds. */
const ROLLBACK_WITHIN_MS = 4_500;

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
    const [, ...answers] = await together([begun, ...this.#send(calls)]);
    return answers as Answers<Calls>;
  }

  /** The same, and commits in the same round trip. */
  async commit<const Calls extends readonly Call[]>(...calls: Calls): Promise<Answers<Calls>> {
    const sent = [this.#begin(), ...this.#send(calls)];
    this.#state = 'ended';
    const answers = await together([...sent, this.#connection.control('COMMIT', this.#terms.until())]);
    return answers.slice(1, -1) as Answers<Calls>;
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

  #send(calls: readonly Call[]): Promise<Row[]>[] {
    const until = this.#terms.until();
    return calls.map((call) => this.#connection.run(call, until));
  }
}

/** Waits for all, so that none is left behind. @throws the first failure: those after it only follow from it */
async function together(sent: readonly Promise<Row[]>[]): Promise<Row[][]> {
  const settled = await Promise.allSettled(sent);
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.map((each) => (each as PromiseFulfilledResult<Row[]>).value);
}
