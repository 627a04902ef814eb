interface Waiting<Question, Answer> {
  readonly question: Question;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Answers questions of one kind: one answer each, in their order; an answer that is an Error is that question's alone. */
type Ask<Kind, Question, Answer> = (
  kind: Kind,
  questions: readonly Question[],
) => Promise<readonly (Answer | Error)[]>;

/**
 * Questions that come in one turn of the event loop, asked in one call for all of a kind: what a call to a server costs
 * both sides is mostly its being sent, and under load many requests ask at once. One that comes alone waits for nothing.
 */
export class Gathered<Kind, Question, Answer> {
  readonly #ask: Ask<Kind, Question, Answer>;
  readonly #mostTogether: number;
  #waiting = new Map<Kind, Waiting<Question, Answer>[]>();

  /**
   * @param mostTogether so many are asked at once, without waiting for the end of the turn. Few, where the server is to
   *   work while the rest of the turn is still going on.
   */
  constructor(mostTogether: number, ask: Ask<Kind, Question, Answer>) {
    this.#ask = ask;
    this.#mostTogether = mostTogether;
  }

  /** Rejects with the error of its own answer, or with that of the whole call. */
  ask(kind: Kind, question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) setImmediate(() => this.flush());
      const others = this.#waiting.get(kind) ?? [];
      others.push({ question, resolve, reject });
      if (others.length === this.#mostTogether) {
        this.#waiting.set(kind, []);
        void this.#sendTogether(kind, others);
      } else if (others.length === 1) this.#waiting.set(kind, others);
    });
  }

  /** Asks what waits at once: for what must not overtake it. */
  flush(): void {
    const kinds = this.#waiting;
    // A map that is cleared keeps what it held reachable from what was its table, and so from one garbage to the next.
    this.#waiting = new Map();
    for (const [kind, waiting] of kinds) {
      if (waiting.length > 0) void this.#sendTogether(kind, waiting);
    }
  }

  async #sendTogether(kind: Kind, waiting: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.#ask(
        kind,
        waiting.map(({ question }) => question),
      );
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const answer = answers[index] as Answer | Error;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
