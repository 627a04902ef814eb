import { eventBlock } from '../../wire/event-text.ts';
import { messageFrames, watchedEvent, watchHead } from '../../wire/socket-frames.ts';
import type { StreamEvent } from '../../wire/stream-event.ts';
import { groupedPieces, PIECE_MAX_BYTES, type Pieces, slicedPieces, type Text } from './pieces.ts';
import { storedBytes } from './stored-bytes.ts';

/** The text of these events. No events are no pieces. */
export const textOf = (events: readonly StreamEvent[]): Text => new EventsText(events);

/** A comment of server-sent events; a socket is sent nothing. */
export function commentOf(comment: string): Text {
  const bytes = Buffer.from(comment);
  return {
    length: bytes.length,
    writes: 1,
    isCurrent: false,
    sse: slicedPieces(bytes),
    frames: () => NO_PIECES,
  };
}

const NO_PIECES = groupedPieces([]);

/** Each transport's bytes are made when its first reader needs them. */
class EventsText implements Text {
  isCurrent = false;
  readonly #events: readonly StreamEvent[];
  #bytes: Buffer | null = null;
  #sse: Pieces | null = null;
  /** Of the last watch: most pages number theirs alike. */
  #frames: { readonly watch: string; readonly pieces: Pieces } | null = null;

  constructor(events: readonly StreamEvent[]) {
    this.#events = events;
  }

  get length(): number {
    return this.#encoded().length;
  }

  get writes(): number {
    let units = 0;
    for (const { data } of this.#events) units += data.length;
    return Math.ceil(units / PIECE_MAX_BYTES);
  }

  get sse(): Pieces {
    this.#sse ??= slicedPieces(this.#encoded());
    return this.#sse;
  }

  frames(watch: string): Pieces {
    if (this.#frames?.watch === watch) return this.#frames.pieces;
    const head = watchHead(watch);
    const frames = this.#events.flatMap((event) => messageFrames(head + watchedEvent(event)));
    const pieces = groupedPieces(frames);
    this.#frames = { watch, pieces };
    return pieces;
  }

  #encoded(): Buffer {
    this.#bytes ??= storedBytes(this.#events.map(eventBlock).join(''));
    return this.#bytes;
  }
}
