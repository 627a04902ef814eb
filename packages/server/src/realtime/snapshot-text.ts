import { setImmediate as nextTurn } from 'node:timers/promises';
import { presentPresence } from '../http/present.ts';
import { snapshotFrame } from './event-text.ts';
import type { FeedState } from './feed-state.ts';
import type { FilteredView } from './filtered-view.ts';

/** Users in one piece: small enough that a reader who takes it shows a sign of life. */
const USERS_PER_PIECE = 256;
/** Pieces that are made before others have their turn. */
const PIECES_PER_TURN = 4;

/** What a reader is given first: bytes that lead it to an offset. They are the same for all who are given them. */
export interface Opening {
  readonly pieces: readonly Buffer[];
  readonly offset: number;
}

/** The event that tells all that a filter shows. Nothing may change meanwhile. */
export async function snapshotOf(
  view: FilteredView,
  { view: group, epoch, offset }: FeedState,
): Promise<Opening> {
  const { head, tail } = snapshotFrame({ epoch, offset });
  const pieces: Buffer[] = [];
  let entries: string[] = [];
  let before = head;
  const cut = (after: string) => {
    pieces.push(Buffer.from(before + entries.join(',') + after));
    entries = [];
    before = ',';
  };
  for (const presence of view.present(group)) {
    if (entries.length === USERS_PER_PIECE) {
      cut('');
      if (pieces.length % PIECES_PER_TURN === 0) await nextTurn();
    }
    entries.push(presentPresence(presence));
  }
  cut(tail);
  return { pieces, offset };
}
