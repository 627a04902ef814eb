import { setImmediate as nextTick } from 'node:timers/promises';
import { EncodedPieces } from './encoded-pieces.ts';
import { partsOf, type TextPart } from './entry-texts.ts';
import { snapshotFrame } from './event-text.ts';
import type { FeedState } from './feed-state.ts';
import type { FilteredView } from './filtered-view.ts';
import { PIECE_MAX_BYTES, type Text } from './pieces.ts';

/** Users that are read from a view before other work of the process goes on. */
const USERS_PER_TICK = 1_024;

/** One for the whole process, so that its bound is one of the process. */
const encoded = new EncodedPieces();

/** What a reader is given first: bytes that lead it to an offset. They are the same for all who are given them. */
export interface Opening {
  readonly text: Text;
  readonly offset: number;
}

/** The event with all that a filter shows. Nothing may change meanwhile. */
export async function snapshotOf(view: FilteredView, state: FeedState): Promise<Opening> {
  const { offset, entryTexts } = state;
  const { head, tail } = snapshotFrame(state.idAt(offset));
  state.pruneTexts();
  const parts = [...partsOf(head)];
  for (const [index, userId] of state.userIds().entries()) {
    if (index > 0 && index % USERS_PER_TICK === 0) await nextTick();
    const presence = view.presenceOf(userId, state.view);
    if (presence !== null) parts.push(...entryTexts.of(presence));
  }
  if (parts[1] !== undefined) parts[1] = withoutComma(parts[1]);
  parts.push(...partsOf(tail));
  return { text: new SnapshotText(parts), offset };
}

/** The first entry has no comma before it. */
const withoutComma = ({ text, bytes }: TextPart): TextPart => ({ text: text.slice(1), bytes: bytes - 1 });

/** Parts that are written together. */
interface Piece {
  /** The first part, and the one after the last. */
  readonly from: number;
  to: number;
  bytes: number;
}

/**
 * A snapshot that refers to the texts of its users, and becomes bytes piece by piece while it is written. It costs 8 bytes
 * for each user that it shows; the texts are shared by all filters of the group (see EntryTexts).
 */
class SnapshotText implements Text {
  readonly length: number;
  isCurrent = true;
  readonly #parts: readonly TextPart[];
  readonly #pieces: readonly Piece[];

  constructor(parts: readonly TextPart[]) {
    this.#parts = parts;
    this.#pieces = piecesOf(parts);
    this.length = parts.reduce((length, { bytes }) => length + bytes, 0);
  }

  get pieceCount(): number {
    return this.#pieces.length;
  }

  piece(index: number): Buffer {
    const piece = this.#pieces[index] as Piece;
    return encoded.of(piece, () => this.#encode(piece));
  }

  #encode({ from, to }: Piece): Buffer {
    let text = '';
    for (let index = from; index < to; index += 1) text += (this.#parts[index] as TextPart).text;
    return Buffer.from(text);
  }
}

/** As many parts in each piece as fit it. */
function piecesOf(parts: readonly TextPart[]): readonly Piece[] {
  let piece: Piece = { from: 0, to: 0, bytes: 0 };
  const pieces = [piece];
  for (const { bytes } of parts) {
    if (piece.bytes + bytes > PIECE_MAX_BYTES) {
      piece = { from: piece.to, to: piece.to, bytes: 0 };
      pieces.push(piece);
    }
    piece.to += 1;
    piece.bytes += bytes;
  }
  return pieces;
}
