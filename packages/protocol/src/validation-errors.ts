import { PROBLEMS_NAMED } from './limits.ts';

/** One validation error: the JSON path of the value (`users[3].nick`), and what is expected there. */
interface Problem {
  readonly path: string;
  readonly expected: string;
}

/** The validation errors of one step: their number, and the first {@link PROBLEMS_NAMED} of them. */
export class Problems {
  count = 0;
  readonly named: Problem[] = [];

  /** Whether further errors are only counted. */
  get isFull(): boolean {
    return this.named.length >= PROBLEMS_NAMED;
  }

  add(path: string, expected: string): void {
    this.count += 1;
    if (!this.isFull) this.named.push({ path, expected });
  }
}

/** The validation errors of one value, by step. The first step with errors determines the response. */
export class ValidationErrors {
  readonly unexpected = new Problems();
  readonly missing = new Problems();
  readonly invalid = new Problems();

  get clean(): boolean {
    return this.unexpected.count + this.missing.count + this.invalid.count === 0;
  }
}
