import type { PresenceScope } from '../presence/presence-store.ts';
import { BatchText } from './batch-text.ts';
import type { Channel } from './channel.ts';
import { ChannelIndex } from './channel-index.ts';
import { DurableLocations } from './durable-locations.ts';
import { EntryTexts } from './entry-texts.ts';
import { GroupView } from './group-view.ts';
import { SharedEntries } from './shared-entries.ts';
import { SharedTexts } from './shared-texts.ts';
import { UserOrder } from './user-order.ts';

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
  readonly channels = new ChannelIndex<Channel>();
  readonly durable = new DurableLocations();
  readonly entryTexts = new EntryTexts();
  readonly entries = new SharedEntries();
  readonly batchText = new BatchText();
  /** What was written for readers who missed something. */
  readonly missedTexts = new SharedTexts(MISSED_TEXTS_MAX);
  readonly #order = new UserOrder();

  constructor(scope: PresenceScope) {
    this.scope = scope;
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
