import type { Text } from './pieces.ts';

/** How many bytes the streams of a process may hold that nobody else will be given. */
const HELD_MAX_BYTES = 67_108_864;

/** Somebody who is in the middle of a text. */
export interface Holder {
  /** Ends the stream, and with it what it holds. */
  cut(): void;
}

/**
 * The long texts that streams are in the middle of. While a group changes, each reader who stalls may be in the middle of
 * a snapshot that nobody else is given any more: above a limit for the whole process, those in the oldest are cut off.
 */
export class HeldTexts {
  /** The oldest first. */
  readonly #holders = new Map<Text, Set<Holder>>();

  /** Somebody is given a text. Those in older ones are cut off where there is no room for it. */
  hold(text: Text, holder: Holder): void {
    const holders = this.#holders.get(text);
    if (holders !== undefined) {
      holders.add(holder);
      return;
    }
    this.#holders.set(text, new Set([holder]));
    this.#makeRoom(text);
  }

  /** They have it, or are gone. Idempotent. */
  release(text: Text, holder: Holder): void {
    const holders = this.#holders.get(text);
    holders?.delete(holder);
    if (holders?.size === 0) this.#holders.delete(text);
  }

  #makeRoom(newest: Text): void {
    const outdated = [...this.#holders.keys()].filter((text) => !text.isCurrent);
    let bytes = outdated.reduce((sum, { length }) => sum + length, 0);
    for (const text of outdated) {
      if (bytes <= HELD_MAX_BYTES || text === newest) return;
      bytes -= text.length;
      for (const holder of [...(this.#holders.get(text) ?? [])]) holder.cut();
    }
  }
}
