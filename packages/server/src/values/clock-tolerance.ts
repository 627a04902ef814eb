/** How far the clocks of the processes and engines of one installation may differ, in milliseconds. */
export const PROCESS_CLOCK_TOLERANCE_MS = 1_000;
