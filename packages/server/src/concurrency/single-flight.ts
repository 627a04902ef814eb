/** Shares what is under way: a task that is requested under the same key meanwhile is not run, and gets the same result. */
export class SingleFlight<Key, Result> {
  readonly #underWay = new Map<Key, Promise<Result>>();

  run(key: Key, task: () => Promise<Result>): Promise<Result> {
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    const result = task().finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, result);
    return result;
  }
}
