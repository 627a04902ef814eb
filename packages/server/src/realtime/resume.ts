import type { PresenceEvent, PresencePosition, PresenceWatch } from '../presence/presence-store.ts';
import type { Channel } from './channel.ts';
import type { FeedState } from './feed-state.ts';
import type { FilteredView } from './filtered-view.ts';
import type { GroupView } from './group-view.ts';
import { arrived, departed, durable, type Entry, type ReaderEvent } from './reader-event.ts';
import type { Opening } from './snapshot-text.ts';

type Numbered = readonly [offset: number, event: PresenceEvent];

/** What the engine keeps of a group's events for somebody who comes back. */
export interface Missed {
  readonly position: PresencePosition;
  /** Empty where the channel itself kept what it told. */
  readonly events: readonly Numbered[];
  /** The offset of the group's last event: whatever a reader was told before it came back, on any process, is not later. */
  readonly head: number;
}

export interface Resumed {
  readonly opening: Opening;
  /** Before this offset the reader may know some of what it is told already. */
  readonly exactFrom: number;
}

/** What there is to read for {@link resume}; null when nothing of that position is kept. */
export async function readMissed(
  watch: PresenceWatch,
  channel: Channel,
  state: FeedState,
  position: PresencePosition,
): Promise<Missed | null> {
  const isOwnPast = state.isOwnPast(position);
  if (isOwnPast === false) return null;
  // The engine is asked about what is not known here.
  const isKept = channel.keeps(position.offset) && (isOwnPast === true || position.offset >= state.offset);
  const from = isKept ? Math.max(position.offset, state.offset) : position.offset;
  const events = await watch.since(from === position.offset ? position : state.positionAt(from));
  if (events === null) return null;
  if (position.offset > state.offset) state.learnChecksum(position.offset, position.checksum);
  return { position, events: isKept ? [] : events, head: from + events.length };
}

/** What leads somebody who knows all up to a position to where the channel is; null when only a snapshot does. */
export function resume(
  { position, events, head }: Missed,
  channel: Channel,
  state: FeedState,
): Resumed | null {
  const { offset } = position;
  if (state.isOwnPast(position) === false) return null;
  const isKept = events.length === 0 && channel.keeps(offset);
  const to = Math.max(offset, isKept ? channel.toldTo : Math.min(head, state.offset));
  const isWhole = isKept || events.length >= Math.min(head, to) - offset;
  if (!isWhole || !channel.keeps(to)) return null;
  const entries = () =>
    entriesOf(
      events.filter(([at]) => at <= to),
      channel.view,
      state.view,
    );
  const text = isKept
    ? channel.missed(offset, false)
    : channel.shared(`${offset} ${to} of ${state.offset}`, entries, to);
  return text === null ? null : { opening: { text, offset: to }, exactFrom: head };
}

/**
 * The group's events as a reader is told of them who may know some of it already: each says where a user is or is not.
 * Null where that takes to know where somebody was.
 */
function entriesOf(events: readonly Numbered[], view: FilteredView, group: GroupView): Entry[] | null {
  const entries: Entry[] = [];
  const lastDurable = new Map<string, number>();
  for (const [offset, event] of events) if (event.type === 'durable') lastDurable.set(event.userId, offset);
  for (const [offset, event] of events) {
    const told = eventOf(event, view, group);
    if (told === undefined) return null;
    // Of several durable places the last is told: that is the one which the view knows.
    const isOutdated = event.type === 'durable' && lastDurable.get(event.userId) !== offset;
    if (told !== null && !isOutdated) entries.push({ offset, event: told });
  }
  return entries;
}

/** Null for what the filter hides. */
function eventOf(event: PresenceEvent, view: FilteredView, group: GroupView): ReaderEvent | null | undefined {
  switch (event.type) {
    case 'placed': {
      const { userId, location, left } = event;
      // Who is nowhere any more has left since, which is told in its turn.
      const isHidden = group.has(userId) && !group.isVisible(userId);
      if (!isHidden) return view.filtered(arrived(userId, location, left));
      return left === null ? null : view.filtered(departed(userId, left, 'moved'));
    }
    case 'left':
      return view.filtered(departed(event.userId, event.location, event.reason));
    case 'durable': {
      const { userId, left, endedTo } = event;
      const latest = view.durableOf(userId);
      if (latest !== null) return durable(userId, latest.location, latest.at);
      // Which location the reader knew, and whether it is among those that ended, is not known here.
      if (endedTo !== undefined && !view.filter.excludeDurable) return undefined;
      const isLeft = !view.filter.excludeDurable && left !== null && view.passes(left);
      return isLeft ? departed(userId, left, 'moved', true) : null;
    }
    default:
      return undefined;
  }
}
