/** Others have three quarters of the store while rows are removed: nobody waits for that. */
const RESTS_PER_SLICE = 3;

/** How long a purge rests after a slice that took so long, in milliseconds. */
export const restAfter = (sliceMs: number): number => RESTS_PER_SLICE * sliceMs;
