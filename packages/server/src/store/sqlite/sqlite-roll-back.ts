/** Thrown by a write that has an outcome and must leave nothing behind: a rejected batch, a dry run. */
export class RollBack extends Error {
  readonly outcome: unknown;
  constructor(outcome: unknown) {
    super('rolled back');
    this.outcome = outcome;
  }
}
