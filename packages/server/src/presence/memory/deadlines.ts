import { type Deadline, Link } from './presence.ts';

/** The deadlines of one second. */
class DueList extends Link {
  /** In seconds since the epoch. */
  readonly second: number;

  constructor(second: number) {
    super();
    this.second = second;
  }
}

/**
 * Presences and leases by the second of their deadline. One whose deadline was extended stays in its list and moves when the
 * old second comes, so that a refresh costs nothing here.
 */
export class Deadlines {
  /**
   * The latest second comes first, so that the due ones are removed at the end. There are at most as many as a lifetime has
   * seconds.
   */
  readonly #lists: DueList[] = [];

  add(deadline: Deadline): void {
    const second = secondOf(deadline.expiresAt);
    const count = this.#countFrom(second);
    let list = this.#lists[count - 1];
    if (list?.second !== second) {
      list = new DueList(second);
      this.#lists.splice(count, 0, list);
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
    let list = this.#lists.at(-1);
    while (list !== undefined && list.second <= last) {
      // One that is not due starts a new list of this second, so the old one always empties.
      this.#lists.splice(this.#countFrom(list.second) - 1, 1);
      while (!list.isAlone) {
        const deadline = list.next as Deadline;
        deadline.unlink();
        const isDue = deadline.expiresAt <= now && secondOf(deadline.expiresAt) <= list.second;
        if (!isDue) this.add(deadline);
        yield isDue ? deadline : null;
      }
      list = this.#lists[this.#countFrom(list.second + 1) - 1];
    }
  }

  /** Brings later deadlines forward to this time. Costs a visit of each. */
  limit(latest: number): void {
    for (const list of [...this.#lists]) {
      for (let link = list.next; link !== list; ) {
        const deadline = link as Deadline;
        link = link.next;
        if (deadline.expiresAt > latest) this.change(deadline, latest);
      }
    }
  }

  clear(): void {
    this.#lists.length = 0;
  }

  /** How many lists are of that second or a later one. */
  #countFrom(second: number): number {
    let low = 0;
    let high = this.#lists.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#lists[middle] as DueList).second >= second) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function secondOf(time: number): number {
  return Math.floor(time / 1_000);
}
