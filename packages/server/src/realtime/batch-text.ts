import { entriesText } from './event-text.ts';
import { mergeEntries } from './merge-entries.ts';
import { inPieces, type Text, textOf } from './pieces.ts';
import type { Entry } from './reader-event.ts';

/** Entries that are sent together, as the readers of a channel get them. */
export interface BatchContent {
  readonly entries: readonly Entry[];
  readonly isMerged: boolean;
  readonly epoch: string;
  /** The offset that they lead to. */
  readonly to: number;
}

/** Writes batches. Channels that show the same events send them one after the other: the last text is stored for the next. */
export class BatchText {
  #content: BatchContent | null = null;
  #text: Text | null = null;

  of(content: BatchContent): Text {
    if (this.#text !== null && this.#content !== null && isSame(this.#content, content)) return this.#text;
    const { entries, isMerged, epoch, to } = content;
    const sent = isMerged ? mergeEntries(entries) : entries;
    this.#text = textOf(inPieces(Buffer.from(entriesText(sent, epoch, to))));
    this.#content = content;
    return this.#text;
  }
}

const isSame = (a: BatchContent, b: BatchContent) =>
  a.to === b.to &&
  a.epoch === b.epoch &&
  a.isMerged === b.isMerged &&
  a.entries.length === b.entries.length &&
  a.entries.every((entry, index) => entry === b.entries[index]);
