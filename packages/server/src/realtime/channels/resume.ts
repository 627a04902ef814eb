import { NO_PROFILE } from '../../core/roster/user-profiles.ts';
import type {
  NumberedEvent,
  PresenceEvent,
  PresencePosition,
  PresenceWatch,
} from '../../presence/presence-store.ts';
import { arrived, dataOf, departed, durable, type Entry, type ReaderEvent } from '../events/reader-event.ts';
import type { FeedState } from '../views/feed-state.ts';
import type { FilteredView } from '../views/filtered-view.ts';
import type { GroupView } from '../views/group-view.ts';
import type { ShownProfiles } from '../views/shown-profiles.ts';
import type { Channel } from './channel.ts';
import type { Opening } from './channel-reader.ts';

/** The group's events after the position of a reader who reconnects. */
export interface Missed {
  readonly position: PresencePosition;
  /** Empty where the channel itself has what it sent. */
  readonly events: readonly NumberedEvent[];
  /** The offset of the group's last event: no process sent the reader anything later before it came back. */
  readonly head: number;
}

interface Resumed {
  readonly opening: Opening;
  /** Up to this offset the reader may already have some of the events that it is sent. */
  readonly knownTo: number;
}

/** Reads what {@link resume} needs; null when the events after that position are dropped. */
export async function readMissed(
  watch: PresenceWatch,
  channel: Channel,
  state: FeedState,
  position: PresencePosition,
): Promise<Missed | null> {
  const isOwnPast = state.isOwnPast(position);
  if (isOwnPast === false) return null;
  // Only the engine knows whether an unknown checksum is of this history.
  const isCovered =
    channel.covers(position.offset) && (isOwnPast === true || position.offset >= state.offset);
  const from = isCovered ? Math.max(position.offset, state.offset) : position.offset;
  const events = await watch.since(from === position.offset ? position : state.positionAt(from));
  if (events === null) return null;
  if (position.offset > state.offset) state.addChecksum(position.offset, position.checksum);
  return { position, events: isCovered ? [] : events, head: from + events.length };
}

/** The text that leads a reader from a position to that of the channel; null when only a snapshot does. */
export function resume(
  { position, events, head }: Missed,
  channel: Channel,
  state: FeedState,
): Resumed | null {
  const { offset } = position;
  if (state.isOwnPast(position) === false) return null;
  const isCovered = events.length === 0 && channel.covers(offset);
  if (isCovered && offset < state.aheadAt) return null;
  const to = Math.max(offset, isCovered ? channel.sentTo : Math.min(head, state.offset));
  const isWhole = isCovered || events.length >= Math.min(head, to) - offset;
  if (!isWhole || !channel.covers(to)) return null;
  const due = () => events.filter(([at]) => at <= to);
  const text = isCovered
    ? channel.missed(offset, false)
    : channel.shared(`${offset} ${to} of ${state.offset}`, () => entriesOf(due(), channel.view, state), to);
  return text === null ? null : { opening: { text, offset: to }, knownTo: head };
}

/**
 * The group's events for a reader who may have some of them already: each has where a user is or is not. Null where the
 * earlier location of a user would be needed.
 */
function entriesOf(
  events: readonly NumberedEvent[],
  view: FilteredView,
  { view: group, profiles }: FeedState,
): Entry[] | null {
  const entries: Entry[] = [];
  const lastDurable = new Map<string, number>();
  for (const [offset, event] of events) if (event.type === 'durable') lastDurable.set(event.userId, offset);
  for (const [offset, event] of events) {
    const shown = shownOf(event, view, group, profiles);
    if (shown === undefined) return null;
    // The view has the last one of a user's durable locations. Each that the filter hides can be the departure from the reader's.
    const isOutdated = shown?.type === 'durable' && lastDurable.get(shown.userId) !== offset;
    if (shown === null || isOutdated) continue;
    entries.push({ offset, event: shown });
    if (shown.type === 'durable' && view.showsUsers) {
      const { userId } = shown;
      entries.push({ offset, event: { type: 'user', userId, user: profiles.get(userId) ?? NO_PROFILE } });
    }
    const beside = event.type === 'arrived' ? arrivedData(event, view) : null;
    if (beside !== null && shown.type === 'arrived') entries.push({ offset, event: beside });
  }
  return entries;
}

/** The data that an arrival brings, as an event of its own. A location without data needs none: no reader has data of it. */
function arrivedData(
  { userId, location, data }: Extract<PresenceEvent, { type: 'arrived' }>,
  view: FilteredView,
): ReaderEvent | null {
  return data === undefined ? null : view.filtered(dataOf(userId, location, data));
}

/** Null for what the filter hides, undefined for what cannot be known. */
function shownOf(
  event: PresenceEvent,
  view: FilteredView,
  group: GroupView,
  profiles: ShownProfiles,
): ReaderEvent | null | undefined {
  switch (event.type) {
    case 'releasing':
      return null;
    case 'profiles':
      return view.showsUsers ? undefined : null;
    case 'data': {
      const { userId, location, data } = event;
      const isHidden = group.has(userId) && !group.isVisible(userId);
      return isHidden ? null : view.filtered(dataOf(userId, location, data));
    }
    case 'arrived': {
      const { userId, location, from } = event;
      // A user who is not present any more has left since, which is an event of its own.
      const isHidden = group.has(userId) && !group.isVisible(userId);
      if (!isHidden) return view.filtered(arrived(userId, location, from, true, profiles.get(userId)));
      return from === null ? null : view.filtered(departed(userId, from, 'moved'));
    }
    case 'departed':
      return view.filtered(departed(event.userId, event.location, event.reason));
    case 'durable': {
      const { userId, from, endedTo } = event;
      const latest = view.durableOf(userId);
      if (latest !== null) return durable(userId, latest.location, latest.at);
      if (view.filter.excludeDurable) return null;
      // The reader's location may be among those that ended.
      if (endedTo !== undefined) return undefined;
      return from !== null && view.passes(from) ? departed(userId, from, 'moved', true) : null;
    }
    default:
      return undefined;
  }
}
