import type { Text } from '../text/pieces.ts';

/** A text that all readers of a channel are sent at once. A reader with all events up to `from` takes the text as it is. */
export interface Batch {
  readonly from: number;
  /** The offset of the first entry. */
  readonly first: number;
  readonly to: number;
  readonly text: Text;
}

/** The first text of a reader, which leads to an offset. It is the same bytes for all who get it. */
export interface Opening {
  readonly text: Text;
  readonly offset: number;
}

/** A reader of a channel. None of these throws. */
export interface ChannelReader {
  /** The reader resumed, and may not have what the channel had when the reader joined. */
  readonly isResumed: boolean;
  take(batch: Batch): void;
  /** Continues where the network stopped taking bytes. */
  resume(): void;
  /** Sends a snapshot with the next {@link resume}. A reader in the middle of a text is disconnected and reconnects. */
  reopen(opening: Opening): void;
}
