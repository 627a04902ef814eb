import type { StreamSink } from './stream-sink.ts';

/**
 * At how many looks in a row nothing more may have been taken. One is not enough: of what is written to it, a socket says
 * nothing before the reader has taken a good part of all that the network holds, which is megabytes.
 */
const STALLED_MAX = 8;

/** Nothing waited at the last look. */
const NOTHING = -1;

/** Watches whether a reader takes anything at all. */
export class StallWatch {
  /** How much the network had taken at the last look, in bytes, where something waited. */
  #takenBefore = NOTHING;
  /** At how many looks since then it was the same. */
  #stalled = 0;

  /** Whether something waits of which nothing has been taken for a while. To be called with every heartbeat. */
  isStalled(sink: StreamSink): boolean {
    const waiting = sink.writableLength;
    const taken = waiting === 0 ? NOTHING : sink.bytesWritten - waiting;
    this.#stalled = waiting > 0 && taken === this.#takenBefore ? this.#stalled + 1 : 0;
    this.#takenBefore = taken;
    return this.#stalled >= STALLED_MAX;
  }
}
