import type { StreamSink } from './stream-sink.ts';

/**
 * After how many heartbeats in a row without progress a reader is stalled. One is not enough: a socket reports nothing before
 * the reader has taken a good part of all that the network buffers, which is megabytes.
 */
const STALLED_MAX = 8;

/** No byte waited at the last heartbeat. */
const NOTHING = -1;

/** Watches whether a reader takes anything at all. */
export class StallWatch {
  /** How many bytes the network had taken at the last heartbeat, where something waited. */
  #takenBefore = NOTHING;
  #stalled = 0;

  /** Whether bytes wait of which none has been taken for a while. Call it with every heartbeat. */
  isStalled(sink: StreamSink): boolean {
    const waiting = sink.writableLength;
    const taken = waiting === 0 ? NOTHING : sink.bytesWritten - waiting;
    this.#stalled = waiting > 0 && taken === this.#takenBefore ? this.#stalled + 1 : 0;
    this.#takenBefore = taken;
    return this.#stalled >= STALLED_MAX;
  }
}
