import { type Deadline, Link } from './presence.ts';

/**
 * Presences and leases by the second of their deadline. One whose deadline was extended stays in its list and moves when the
 * old second comes, so that a refresh costs nothing here.
 */
export class Deadlines {
  readonly #seconds = new Map<number, Link>();

  add(deadline: Deadline): void {
    const second = secondOf(deadline.expiresAt);
    let list = this.#seconds.get(second);
    if (list === undefined) {
      list = new Link();
      this.#seconds.set(second, list);
    }
    deadline.insertBefore(list);
  }

  remove(deadline: Deadline): void {
    deadline.unlink();
  }

  change(deadline: Deadline, expiresAt: number): void {
    const isEarlier = expiresAt < deadline.expiresAt;
    deadline.expiresAt = expiresAt;
    if (!isEarlier) return;
    deadline.unlink();
    this.add(deadline);
  }

  /**
   * Removes due deadlines, in order of their seconds. It yields null for a visited deadline that is not due, so that
   * the caller can count the work. Between two steps, deadlines may be added, removed and changed.
   */
  *takeDue(now: number): Generator<Deadline | null> {
    const last = secondOf(now);
    for (let second = this.#firstSecond(); second <= last; second = this.#firstSecond(second)) {
      const list = this.#seconds.get(second) as Link;
      // One that is not due starts a new list of this second, so the old one always empties.
      this.#seconds.delete(second);
      while (!list.isAlone) {
        const deadline = list.next as Deadline;
        deadline.unlink();
        const isDue = deadline.expiresAt <= now && secondOf(deadline.expiresAt) <= second;
        if (!isDue) this.add(deadline);
        yield isDue ? deadline : null;
      }
    }
  }

  clear(): void {
    this.#seconds.clear();
  }

  /** The first second after the given one that has a list. There are at most as many as a lifetime has seconds. */
  #firstSecond(after = Number.NEGATIVE_INFINITY): number {
    let first = Number.POSITIVE_INFINITY;
    for (const second of this.#seconds.keys()) if (second > after && second < first) first = second;
    return first;
  }
}

function secondOf(time: number): number {
  return Math.floor(time / 1_000);
}
