import { type Entry, type ReaderEvent, textLength } from './reader-event.ts';
import type { RecentEntries } from './recent-entries.ts';

/** How many entries the channels of a group store together, and how much text in them. */
const ENTRIES_MAX = 10_000;
const TEXT_MAX_LENGTH = 4_000_000;

/**
 * The entries of a group's channels: channels that show the same event share one entry. Above a limit for the whole group
 * the older half is dropped from every channel; a channel by itself stores fewer (see RecentEntries). An entry takes some
 * 150 bytes and its text, and 8 bytes in each channel that shows it. What channels have yet to send is stored besides.
 */
export class SharedEntries {
  readonly #lists = new Set<RecentEntries>();
  #entries: Entry[] = [];
  #textLength = 0;
  #offset = -1;
  /** The entries at the last offset: by the event itself, and by its content where channels made an event each. */
  readonly #byEvent = new Map<ReaderEvent, Entry>();
  readonly #byContent = new Map<string, Entry>();

  add(list: RecentEntries): void {
    this.#lists.add(list);
  }

  remove(list: RecentEntries): void {
    this.#lists.delete(list);
  }

  /** The entry for an event that a channel shows. Events of one offset come together. */
  entryOf(offset: number, event: ReaderEvent): Entry {
    if (offset !== this.#offset) this.#begin(offset);
    const known = this.#byEvent.get(event);
    if (known !== undefined) return known;
    const content = JSON.stringify(event);
    let entry = this.#byContent.get(content);
    if (entry === undefined) {
      entry = { offset, event, isDropped: false };
      this.#byContent.set(content, entry);
      this.#entries.push(entry);
      this.#textLength += textLength(entry);
      this.#trim();
    }
    this.#byEvent.set(event, entry);
    return entry;
  }

  #begin(offset: number): void {
    this.#offset = offset;
    this.#byEvent.clear();
    this.#byContent.clear();
  }

  #trim(): void {
    if (this.#entries.length <= ENTRIES_MAX && this.#textLength <= TEXT_MAX_LENGTH) return;
    let dropped = 0;
    while (this.#entries.length - dropped > ENTRIES_MAX / 2 || this.#textLength > TEXT_MAX_LENGTH / 2) {
      const entry = this.#entries[dropped] as Entry;
      entry.isDropped = true;
      this.#textLength -= textLength(entry);
      dropped += 1;
    }
    this.#entries.splice(0, dropped);
    for (const list of this.#lists) list.trim();
  }
}
