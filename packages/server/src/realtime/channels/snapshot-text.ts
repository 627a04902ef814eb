import { setImmediate as nextIteration } from 'node:timers/promises';
import { compareCodePoints } from '@rollcall/protocol';
import { snapshotFrame } from '../../wire/event-text.ts';
import { EncodedPieces } from '../text/encoded-pieces.ts';
import { partsOf, type TextPart } from '../text/entry-texts.ts';
import { PIECE_MAX_BYTES, type Text } from '../text/pieces.ts';
import type { FeedState } from '../views/feed-state.ts';
import type { FilteredView } from '../views/filtered-view.ts';
import type { Opening } from './channel-reader.ts';

/** Users that are read from a view before other work of the process continues. */
const USERS_PER_TICK = 1_024;

/** One for the whole process, so that its bound is one of the process. */
const encoded = new EncodedPieces();

/** The snapshot event: all that a filter shows. Nothing may change meanwhile. */
export async function snapshotOf(view: FilteredView, state: FeedState): Promise<Opening> {
  const { offset, entryTexts } = state;
  const durableOnly = view.durableUserIds().filter((userId) => !state.view.has(userId));
  // A sorted list with a few unsorted IDs behind it is sorted in little more than one pass.
  const userIds = [...state.view.sortedUserIds(), ...durableOnly].sort(compareCodePoints);
  const { head, tail } = snapshotFrame(state.idAt(offset));
  if (entryTexts.size > state.view.size + state.durable.size) state.pruneTexts();
  const parts = [...partsOf(head)];
  for (const [index, userId] of userIds.entries()) {
    if (index > 0 && index % USERS_PER_TICK === 0) await nextIteration();
    const presence = view.presenceOf(userId, state.view);
    if (presence !== null) parts.push(...entryTexts.of(presence));
  }
  if (parts[1] !== undefined) parts[1] = withoutComma(parts[1]);
  parts.push(...partsOf(tail));
  return { text: new SnapshotText(parts), offset };
}

/** The first entry has no comma before it. */
const withoutComma = ({ text, bytes }: TextPart): TextPart => ({ text: text.slice(1), bytes: bytes - 1 });

/** Parts that are one write. */
interface Piece {
  /** The first part, and the one after the last. */
  readonly from: number;
  to: number;
  bytes: number;
}

/**
 * A snapshot that refers to the texts of its users, and is encoded piece by piece while it is written. It costs 8 bytes for
 * each user that it shows; the texts are shared by all filters of the group (see EntryTexts).
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
