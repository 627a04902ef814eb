import type { Deadline } from '../http/deadline.ts';

/** Events that wait for a slow consumer. */
const EVENTS_MAX = 1_000;

/** Events from a source that does not wait for their consumer. It stores a bounded number: after those, events are lost. */
export class EventQueue<Event> {
  #events: Event[] = [];
  #isLossy = false;
  #wake: () => void = () => {};

  push(event: Event): void {
    if (this.#events.length >= EVENTS_MAX) this.#isLossy = true;
    if (!this.#isLossy) this.#events.push(event);
    this.#wake();
  }

  /** Events were lost after those in the queue. */
  lose(): void {
    this.#isLossy = true;
    this.#wake();
  }

  /** Begins anew. */
  clear(): void {
    this.#events = [];
    this.#isLossy = false;
  }

  /** The next event; null where events were lost. @throws RollcallError of the deadline */
  async next(deadline: Deadline): Promise<Event | null> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return event;
      if (this.#isLossy) return null;
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await deadline.race(woken);
    }
  }
}
