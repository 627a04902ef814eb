import { setImmediate as nextIteration } from 'node:timers/promises';
import { compareCodePoints } from '@rollcall/protocol';
import { snapshotFrame } from '../../wire/event-text.ts';
import { watchedSnapshot, watchHead } from '../../wire/socket-frames.ts';
import { partsOf, type TextPart } from '../text/entry-texts.ts';
import { framedPieces, PartPieces } from '../text/part-pieces.ts';
import { PIECE_MAX_BYTES, type Pieces, type Text } from '../text/pieces.ts';
import type { FeedState } from '../views/feed-state.ts';
import type { FilteredView } from '../views/filtered-view.ts';
import type { Opening } from './channel-reader.ts';

/** Users that are read from a view before other work of the process continues. */
const USERS_PER_TICK = 1_024;

/** The snapshot event: all that a filter shows. Nothing may change meanwhile. */
export async function snapshotOf(view: FilteredView, state: FeedState): Promise<Opening> {
  const { offset, entryTexts } = state;
  const durableOnly = view.durableUserIds().filter((userId) => !state.view.has(userId));
  // A sorted list with a few unsorted IDs behind it is sorted in little more than one pass.
  const userIds = [...state.view.sortedUserIds(), ...durableOnly].sort(compareCodePoints);
  if (entryTexts.size > state.view.size + state.durable.size) state.pruneTexts();
  const parts: TextPart[] = [];
  for (const [index, userId] of userIds.entries()) {
    if (index > 0 && index % USERS_PER_TICK === 0) await nextIteration();
    const presence = view.presenceOf(userId, state.view, state.profiles);
    if (presence !== null) parts.push(...entryTexts.of(presence));
  }
  if (parts[0] !== undefined) parts[0] = withoutComma(parts[0]);
  return { text: new SnapshotText(parts, state.idAt(offset)), offset };
}

/** The first entry has no comma before it. */
const withoutComma = ({ text, bytes }: TextPart): TextPart => ({ text: text.slice(1), bytes: bytes - 1 });

/**
 * A snapshot that refers to the texts of its users, and is encoded piece by piece while it is written. It costs 8 bytes for
 * each user that it shows, for each transport; the texts are shared by all filters of the group (see EntryTexts).
 */
class SnapshotText implements Text {
  isCurrent = true;
  readonly length: number;
  readonly #entries: readonly TextPart[];
  readonly #id: string;
  #sse: PartPieces | null = null;
  #frames: PartPieces | null = null;

  constructor(entries: readonly TextPart[], id: string) {
    this.#entries = entries;
    this.#id = id;
    this.length = entries.reduce((length, { bytes }) => length + bytes, 0);
  }

  get writes(): number {
    return Math.ceil(this.length / PIECE_MAX_BYTES) + 1;
  }

  get sse(): Pieces {
    this.#sse ??= this.#within(snapshotFrame(this.#id));
    return this.#sse;
  }

  frames(watch: string): Pieces {
    this.#frames ??= this.#within(watchedSnapshot(this.#id));
    return framedPieces(Buffer.from(watchHead(watch)), this.#frames);
  }

  #within({ head, tail }: { readonly head: string; readonly tail: string }): PartPieces {
    return new PartPieces([...partsOf(head), ...this.#entries, ...partsOf(tail)]);
  }
}
