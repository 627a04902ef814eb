import type { ProjectKey } from '../store.ts';

/** Most questions that one statement answers. */
const MOST_TOGETHER = 1_000;

interface Waiting<Question, Answer> {
  readonly question: Question;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Questions about a project that come in one turn of the event loop, asked in one statement: what a statement costs both
 * sides is mostly its being sent, and under load many requests ask at once. One that comes alone waits for nothing.
 */
export class Gathered<Question, Answer> {
  readonly #ask: (project: ProjectKey, questions: readonly Question[]) => Promise<readonly Answer[]>;
  readonly #waiting = new Map<ProjectKey, Waiting<Question, Answer>[]>();

  /** `ask` answers in the order of the questions. */
  constructor(ask: (project: ProjectKey, questions: readonly Question[]) => Promise<readonly Answer[]>) {
    this.#ask = ask;
  }

  ask(project: ProjectKey, question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) setImmediate(() => this.#send());
      const others = this.#waiting.get(project);
      if (others === undefined) this.#waiting.set(project, [{ question, resolve, reject }]);
      else others.push({ question, resolve, reject });
    });
  }

  #send(): void {
    const projects = [...this.#waiting];
    this.#waiting.clear();
    for (const [project, waiting] of projects) {
      for (let from = 0; from < waiting.length; from += MOST_TOGETHER) {
        this.#sendTogether(project, waiting.slice(from, from + MOST_TOGETHER));
      }
    }
  }

  async #sendTogether(project: ProjectKey, waiting: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const questions = waiting.map(({ question }) => question);
      const answers = await this.#ask(project, questions);
      for (const [index, { resolve }] of waiting.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
