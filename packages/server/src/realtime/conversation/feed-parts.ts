import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { PageTokens } from '../../core/page-token.ts';
import type { Store } from '../../store/store.ts';
import type { EventSession } from '../sessions/event-session.ts';
import type { FeedReads } from './feed-reads.ts';

export interface FeedParts {
  readonly store: Store;
  readonly reads: FeedReads;
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes the token of a list's next page. */
  readonly pageTokens: Pick<PageTokens, 'next'>;
  readonly ended: (session: EventSession) => void;
}

/** How long a feed without readers is retained, so that a returning reader resumes, in milliseconds. */
const IDLE_MAX_MS = 60_000;

/** Whether a feed that has had no reader since `idleSince` (null: it has one) is no longer needed. */
export const isExpired = (idleSince: number | null, now: number): boolean =>
  idleSince !== null && Math.abs(now - idleSince) > IDLE_MAX_MS;
