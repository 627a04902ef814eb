import { HISTORY_LENGTH, type PresencePosition, type PresenceScope } from '../presence/presence-store.ts';
import { positionId } from './event-text.ts';
import { GroupView } from './group-view.ts';
import { KnownDurable } from './known-durable.ts';

/** Of how many events the checksums are kept: at least of those that the engine can be asked for again. */
const CHECKSUMS_MAX = 2 * HISTORY_LENGTH;

/** How far a group has been followed, and who is where at that point. */
export class FeedState {
  readonly scope: PresenceScope;
  epoch = '';
  offset = 0;
  view = new GroupView();
  known = new KnownDurable();
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
}
