import type { DurableBounds } from '../durable-bounds.ts';
import type { StoreTimings } from '../store-timings.ts';
import type { PostgresDatabase } from './connections/postgres-database.ts';
import type { LongReads } from './connections/postgres-snapshots.ts';
import type { LargeWrites } from './postgres-large-writes.ts';

export interface PostgresEngine {
  readonly database: PostgresDatabase;
  /** For reads that take long and must see one state from beginning to end. */
  readonly longReads: LongReads;
  /** For writes that would block the event loop. */
  readonly largeWrites: LargeWrites;
  readonly timings: StoreTimings;
  readonly durableBounds: DurableBounds;
  /** Removes what deletions leave. */
  readonly purge: { start(): void };
}
