import type { ApiConnection } from './api-connection.ts';
import type { BatchLimits } from './batch-planner.ts';
import { batchBody, verdictOf } from './batch-request.ts';
import type { Submit } from './settle.ts';

/** Batches smaller than this are not made, however little the server takes. */
const BATCH_MIN_BYTES = 1_024;

/** Applies lines in one batch. What the server finds too large makes the batches to come smaller. */
export function applyLines(connection: ApiConnection, limits: BatchLimits): Submit {
  return async (entries) => {
    const body = batchBody(entries);
    const verdict = verdictOf(await connection.request('POST', '/v1/batch', body), entries);
    if (verdict.kind === 'tooLarge') {
      const half = Math.max(Buffer.byteLength(body) >> 1, BATCH_MIN_BYTES);
      limits.bytes = Math.min(limits.bytes, half);
    }
    return verdict;
  };
}
