import { entryEvents } from '../../wire/event-text.ts';
import { mergeEntries } from '../events/merge-entries.ts';
import type { Entry } from '../events/reader-event.ts';
import { textOf } from './events-text.ts';
import type { Text } from './pieces.ts';

/** Entries that the readers of a channel are sent together. */
export interface BatchContent {
  readonly entries: readonly Entry[];
  readonly isMerged: boolean;
  readonly showsData?: boolean;
  readonly idAt: (offset: number) => string;
  /** The offset that they lead to. */
  readonly to: number;
}

/** Writes batches. Channels that show the same events send them one after the other: the last text is stored for the next. */
export class BatchText {
  #content: BatchContent | null = null;
  /** The ID of the offset that the text leads to. */
  #id = '';
  #text: Text | null = null;
  #size = 0;

  /** How many events the last text has. */
  get size(): number {
    return this.#size;
  }

  of(content: BatchContent): Text {
    const { entries, isMerged, showsData, idAt, to } = content;
    const id = idAt(to);
    const isKnown = this.#content !== null && this.#id === id && isSame(this.#content, content);
    if (isKnown && this.#text !== null) return this.#text;
    const sent = isMerged ? mergeEntries(entries, showsData) : entries;
    this.#size = sent.length;
    this.#text = textOf(entryEvents(sent, idAt, to));
    this.#content = content;
    this.#id = id;
    return this.#text;
  }
}

const isSame = (a: BatchContent, b: BatchContent) =>
  a.to === b.to &&
  a.isMerged === b.isMerged &&
  a.showsData === b.showsData &&
  a.entries.length === b.entries.length &&
  a.entries.every((entry, index) => entry === b.entries[index]);
