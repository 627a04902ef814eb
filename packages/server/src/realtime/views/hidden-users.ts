/** Most users that are remembered; beyond, every user may be hidden. */
const REMEMBERED_MAX = 10_000;

/**
 * Users with durable locations in the group who may not be seen: when one of them is set active again, the locations are shown.
 * It can name others too, and never lacks one.
 */
export class HiddenUsers {
  readonly #ids = new Set<string>();
  #isComplete = true;

  /** Whether the user may be hidden. */
  mayHave(userId: string): boolean {
    return !this.#isComplete || this.#ids.has(userId);
  }

  ids(): Iterable<string> {
    return this.#ids;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  add(userId: string): void {
    if (this.#ids.size < REMEMBERED_MAX) this.#ids.add(userId);
    else if (!this.#ids.has(userId)) this.#isComplete = false;
  }

  delete(userId: string): void {
    this.#ids.delete(userId);
  }

  clear(): void {
    this.#ids.clear();
    this.#isComplete = true;
  }
}
