import { Link, type Presence } from './presence.ts';

/**
 * The presences by the second of their deadline. A presence whose deadline was extended stays in its list and moves when the
 * old second comes, so that a refresh costs nothing here.
 */
export class Deadlines {
  readonly #seconds = new Map<number, Link>();

  add(presence: Presence): void {
    const second = secondOf(presence.expiresAt);
    let list = this.#seconds.get(second);
    if (list === undefined) {
      list = new Link();
      this.#seconds.set(second, list);
    }
    presence.insertBefore(list);
  }

  remove(presence: Presence): void {
    presence.unlink();
  }

  change(presence: Presence, expiresAt: number): void {
    const isEarlier = expiresAt < presence.expiresAt;
    presence.expiresAt = expiresAt;
    if (!isEarlier) return;
    presence.unlink();
    this.add(presence);
  }

  /**
   * Takes out the presences that are due, in order of their second. Null is a presence that is not due, so that the
   * caller can count the work. Between two steps, presences may be added, removed and changed.
   */
  *takeDue(now: number): Generator<Presence | null> {
    const last = secondOf(now);
    for (let second = this.#firstSecond(); second <= last; second = this.#firstSecond(second)) {
      const list = this.#seconds.get(second) as Link;
      // A presence that is not due starts a new list of this second, so the old one always empties.
      this.#seconds.delete(second);
      while (!list.isAlone) {
        const presence = list.next as Presence;
        presence.unlink();
        const isDue = presence.expiresAt <= now && secondOf(presence.expiresAt) <= second;
        if (!isDue) this.add(presence);
        yield isDue ? presence : null;
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
