import { limits } from '@rollcall/protocol';

/** Bounds the frames of one socket: so many a second for long, and a burst of them after a pause. */
export class FrameRate {
  #left: number = limits.SOCKET_FRAMES_BURST;
  #at: number;

  /** @param now milliseconds of a clock that is never set */
  constructor(now: number) {
    this.#at = now;
  }

  /** Counts a frame: false where it is one too many. */
  take(now: number): boolean {
    const gained = ((now - this.#at) / 1_000) * limits.SOCKET_FRAMES_PER_SECOND;
    this.#left = Math.min(limits.SOCKET_FRAMES_BURST, this.#left + gained) - 1;
    this.#at = now;
    return this.#left >= 0;
  }
}
