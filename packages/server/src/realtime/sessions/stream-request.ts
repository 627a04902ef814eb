import type { Caller } from '../../core/caller.ts';
import type { PresenceFilter } from '../../core/presence/presence-reading.ts';
import type { ServiceError } from '../../core/service-error.ts';
import type { StreamPermit } from './stream-permits.ts';

/** The reader of a stream, and the right to read it. */
export interface SessionRequest {
  /** The caller whose token opened the stream. When the project or session changes, {@link checkCredentials} is called. */
  readonly caller: Caller;
  /** Absent where the stream is of the whole project. */
  readonly groupId?: string;
  /**
   * The user of a client token. The stream ends with `user_not_found` or `group_not_found` when this user or the group is
   * removed or set deleted, or the user is no longer a member. The permit is released when the stream ends.
   */
  readonly viewer?: { readonly userId: string; readonly permit?: StreamPermit };
  /** Streams with the same credentials are checked once for all of them. */
  readonly credentials?: string | undefined;
  /**
   * Called when the token's project or session changes, and every minute. It reads the Store, not a cache. The stream ends with
   * the ServiceError that it throws or rejects with. It is retained while the stream is open, so it should refer to little.
   */
  readonly checkCredentials?: () => unknown;
  /** How many messages the snapshot of a thread has at most; absent: as many as a page has by default. */
  readonly snapshotLimit?: number | undefined;
}

/** The watcher of a group. */
export interface WatchRequest extends SessionRequest {
  readonly groupId: string;
}

/** The filter of a presence stream, and its reader. */
export interface StreamRequest extends WatchRequest {
  readonly filter: PresenceFilter;
  /** The connection of the viewer whose presence in the group is released soon after the stream has closed. */
  readonly connection?: string;
}

/** A stream whose right to go on is checked again and again. */
export interface Watcher {
  readonly request: SessionRequest;
  /** The groups in which it reads or acts; none where it is of the whole project, or of the user alone. */
  readonly groupIds: Iterable<string>;
  /** Why the stream ended, or null. */
  readonly ending: ServiceError | 'closed' | null;
  /** Ends the stream with an error event. */
  end(error: ServiceError): void;
  /** The viewer has no access to this group any more. */
  loseGroup(groupId: string, error: ServiceError): void;
}
