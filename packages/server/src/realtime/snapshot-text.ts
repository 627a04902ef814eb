import { setImmediate as nextTurn } from 'node:timers/promises';
import { presentPresence } from '../http/present.ts';
import { snapshotFrame } from './event-text.ts';
import type { FeedState } from './feed-state.ts';
import type { FilteredView } from './filtered-view.ts';
import { inPieces, type Text, textOf } from './pieces.ts';

/** Users whose text is made at once. */
const USERS_PER_TEXT = 256;
/** Texts that are made before others have their turn. */
const TEXTS_PER_TURN = 4;

/** What a reader is given first: bytes that lead it to an offset. They are the same for all who are given them. */
export interface Opening {
  readonly text: Text;
  readonly offset: number;
}

/** The event that tells all that a filter shows. Nothing may change meanwhile. */
export async function snapshotOf(view: FilteredView, state: FeedState): Promise<Opening> {
  const { view: group, offset } = state;
  const { head, tail } = snapshotFrame(state.idAt(offset));
  const pieces: Buffer[] = [];
  let entries: string[] = [];
  let texts = 0;
  let before = head;
  const cut = (after: string) => {
    pieces.push(...inPieces(Buffer.from(before + entries.join(',') + after)));
    entries = [];
    texts += 1;
    before = ',';
  };
  for (const presence of view.present(group)) {
    if (entries.length === USERS_PER_TEXT) {
      cut('');
      if (texts % TEXTS_PER_TURN === 0) await nextTurn();
    }
    entries.push(presentPresence(presence));
  }
  cut(tail);
  return { text: textOf(pieces, true), offset };
}
