import { HISTORY_LENGTH, type PresencePosition, type PresenceScope } from '../../presence/presence-store.ts';
import { positionId } from '../../wire/event-text.ts';
import { SharedEntries } from '../events/shared-entries.ts';
import type { StreamCounts } from '../events/stream-counts.ts';
import { BatchText } from '../text/batch-text.ts';
import { EntryTexts } from '../text/entry-texts.ts';
import { SharedTexts } from '../text/shared-texts.ts';
import { DurableLocations } from './durable-locations.ts';
import { FilteredView } from './filtered-view.ts';
import { GroupView } from './group-view.ts';
import { ShownProfiles } from './shown-profiles.ts';

/** How many checksums are stored: at least those of the events that the engine can return again. */
const CHECKSUMS_MAX = 2 * HISTORY_LENGTH;

/** A position in a group's events, and the presence at that position. What the channels show is stored here once for all. */
export class FeedState {
  readonly scope: PresenceScope;
  readonly counts: StreamCounts;
  epoch = '';
  offset = 0;
  /**
   * The last event of a change that this process had shown before: it had read the Store after the change already. A reader who comes
   * from another process may not have the change, and no channel has an event of it.
   */
  aheadAt = 0;
  view = new GroupView();
  readonly durable = new DurableLocations();
  /** The latest durable location of each visible user, whatever the filters of the channels show. */
  readonly unfiltered = new FilteredView({ location: null, excludeDurable: false }, this.durable);
  readonly profiles = new ShownProfiles();
  readonly entryTexts = new EntryTexts();
  readonly entries = new SharedEntries();
  readonly batchText = new BatchText();
  readonly missedTexts = new SharedTexts();
  /** Of the last events, by offset. */
  readonly #checksums = new Map<number, string>();

  constructor(scope: PresenceScope, counts: StreamCounts) {
    this.scope = scope;
    this.counts = counts;
  }

  /** Starts over at a position of the engine, with empty views. */
  begin({ epoch, offset, checksum }: PresencePosition): void {
    this.epoch = epoch;
    this.offset = offset;
    this.aheadAt = offset;
    this.view = new GroupView();
    this.profiles.restart();
    this.unfiltered.replaceDurable(new Map());
    this.#checksums.clear();
    this.addChecksum(offset, checksum);
  }

  addChecksum(offset: number, checksum: string | undefined): void {
    if (checksum === undefined || checksum === '') return;
    this.#checksums.set(offset, checksum);
    this.#checksums.delete(offset - CHECKSUMS_MAX);
  }

  positionAt(offset: number): PresencePosition {
    const { epoch } = this;
    const checksum = this.#checksums.get(offset);
    return checksum === undefined ? { epoch, offset } : { epoch, offset, checksum };
  }

  idAt(offset: number): string {
    return positionId(this.positionAt(offset));
  }

  /** Whether the position is one of the events that were followed here; null where that is unknown. */
  isOwnPast({ epoch, offset, checksum }: PresencePosition): boolean | null {
    if (epoch !== this.epoch) return false;
    if (checksum === undefined) return true;
    const known = this.#checksums.get(offset);
    return known === undefined ? null : known === checksum;
  }

  /** All users with ephemeral or durable presence, whether or not a filter shows them. */
  userIds(): string[] {
    return [...new Set([...this.view.userIds(), ...this.durable.userIds()])];
  }

  has(userId: string): boolean {
    return this.view.has(userId) || this.durable.has(userId);
  }

  /**
   * Drops the profiles of users who are not present. Not while events are applied: what was read of users who arrive with them would
   * be dropped.
   */
  pruneProfiles(): void {
    this.profiles.prune((userId) => this.has(userId));
  }

  /** Drops the texts of users whom no channel shows. */
  pruneTexts(): void {
    const { view, durable, unfiltered } = this;
    this.entryTexts.prune((userId) => view.has(userId) || durable.isShownBesides(unfiltered.number, userId));
  }
}
