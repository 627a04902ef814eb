import type { Caller } from '../core/caller.ts';
import type { PresenceFilter } from '../core/presence-reading.ts';
import type { GroupNoun } from '../core/refusals.ts';
import type { StreamPermit } from './stream-permits.ts';

/** What a stream is about, and who reads it. */
export interface StreamRequest {
  /** Whose token opened it: a change of its project or session is a reason to ask {@link stillAllowed} again. */
  readonly caller: Caller;
  readonly groupId: string;
  readonly noun: GroupNoun;
  readonly filter: PresenceFilter;
  /**
   * The stream ends at once with `user_not_found` or `group_not_found` when this user is deleted or set deleted, the
   * group goes or is set deleted, or the user is no member of it any more. The permit is released when the stream ends.
   */
  readonly viewer?: { readonly userId: string; readonly permit?: StreamPermit };
  /** What {@link stillAllowed} is about: of several streams with the same, one is asked. */
  readonly credentials?: string | undefined;
  /**
   * Asked again when the token's project or session changes, and every minute: the stream ends with the ServiceError
   * that it throws or rejects with. It is held for as long as the stream is open, so it should hold little.
   */
  readonly stillAllowed?: () => unknown;
}
