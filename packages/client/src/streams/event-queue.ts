import type { Deadline } from '../http/deadline.ts';

/** Events that wait for a slow consumer. */
const EVENTS_MAX = 1_000;

/** Events from a source that does not wait for their consumer. It stores a bounded number: after those, events are lost. */
export class EventQueue<Event> {
  #events: (Event | null)[] = [];
  #wake: () => void = () => {};

  /** Null: events were lost. What follows is lost too, until that is taken. */
  push(event: Event | null): void {
    if (this.#events.at(-1) !== null) this.#events.push(this.#events.length < EVENTS_MAX ? event : null);
    this.#wake();
  }

  /** Begins anew. */
  clear(): void {
    this.#events = [];
  }

  /** The next event; null where events were lost: clear it then. @throws RollcallError of the deadline */
  async next(deadline: Deadline): Promise<Event | null> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return event;
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await deadline.race(woken);
    }
  }
}
