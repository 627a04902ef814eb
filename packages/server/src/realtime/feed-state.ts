import { HISTORY_LENGTH, type PresencePosition, type PresenceScope } from '../presence/presence-store.ts';
import { BatchText } from './batch-text.ts';
import type { Channel } from './channel.ts';
import { ChannelIndex } from './channel-index.ts';
import { DurableLocations } from './durable-locations.ts';
import { EntryTexts } from './entry-texts.ts';
import { positionId } from './event-text.ts';
import { GroupView } from './group-view.ts';
import { KnownDurable } from './known-durable.ts';
import { SharedEntries } from './shared-entries.ts';
import { SharedTexts } from './shared-texts.ts';
import { UserOrder } from './user-order.ts';

/** Of how many events the checksums are kept: at least of those that the engine can be asked for again. */
const CHECKSUMS_MAX = 2 * HISTORY_LENGTH;

/** Enough for several crowds that come back at once, each with a filter of its own. */
const MISSED_TEXTS_MAX = 64;

/**
 * How far a group has been followed, and who is where at that point. What its channels show is stored here once for all of
 * them: a channel by itself has only references.
 */
export class FeedState {
  readonly scope: PresenceScope;
  epoch = '';
  offset = 0;
  view = new GroupView();
  known = new KnownDurable();
  readonly channels = new ChannelIndex<Channel>();
  readonly durable = new DurableLocations();
  readonly entryTexts = new EntryTexts();
  readonly entries = new SharedEntries();
  readonly batchText = new BatchText();
  /** What was written for readers who missed something. */
  readonly missedTexts = new SharedTexts(MISSED_TEXTS_MAX);
  readonly #order = new UserOrder();
  /** Of the last events that came, by offset. */
  readonly #checksums = new Map<number, string>();

  constructor(scope: PresenceScope) {
    this.scope = scope;
  }

  /** Starts over at a position of the engine, with an empty view. */
  begin({ epoch, offset, checksum }: PresencePosition): void {
    this.epoch = epoch;
    this.offset = offset;
    this.view = new GroupView();
    this.known = new KnownDurable();
    this.#checksums.clear();
    this.learnChecksum(offset, checksum);
  }

  learnChecksum(offset: number, checksum: string | undefined): void {
    if (checksum === undefined || checksum === '') return;
    this.#checksums.set(offset, checksum);
    this.#checksums.delete(offset - CHECKSUMS_MAX);
  }

  positionAt(offset: number): PresencePosition {
    const { epoch } = this;
    const checksum = this.#checksums.get(offset);
    return checksum === undefined ? { epoch, offset } : { epoch, offset, checksum };
  }

  /** The position as the `id` of a stream's event. */
  idAt(offset: number): string {
    return positionId(this.positionAt(offset));
  }

  /** Whether the position is of the events that were followed here; null where that is not known. */
  isOwnPast({ epoch, offset, checksum }: PresencePosition): boolean | null {
    if (epoch !== this.epoch) return false;
    if (checksum === undefined) return true;
    const known = this.#checksums.get(offset);
    return known === undefined ? null : known === checksum;
  }

  /** All users that some filter may show, in order of ID. */
  userIds(): readonly string[] {
    return this.#order.of(this.view, this.durable);
  }

  /** Drops the texts of users that left. */
  pruneTexts(): void {
    const userCount = Math.max(this.view.size, this.durable.size);
    this.entryTexts.prune(userCount, (userId) => this.view.has(userId) || this.durable.has(userId));
  }
}
