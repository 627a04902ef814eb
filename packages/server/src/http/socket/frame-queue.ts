import { limits } from '@rollcall/protocol';

/** Bytes of frames that wait to be handled, before no more are to be received. */
const BYTES_MAX = 2 * limits.SOCKET_FRAME_MAX_BYTES;

/** Handles the frames of one socket one after the other, so that they take effect in their order. */
export class FrameQueue {
  readonly #handle: (frame: Buffer) => Promise<void> | null;
  readonly #isReady: () => boolean;
  readonly #onChange: () => void;
  #frames: Buffer[] = [];
  #bytes = 0;
  #handling: Promise<void> | null = null;

  /**
   * @param handle null where nothing has to be waited for; never rejects
   * @param isReady whether the next frame may be handled; call {@link run} when that changes
   * @param onChange called when {@link isFull} may have changed
   */
  constructor(handle: (frame: Buffer) => Promise<void> | null, isReady: () => boolean, onChange: () => void) {
    this.#handle = handle;
    this.#isReady = isReady;
    this.#onChange = onChange;
  }

  /** Whether no more frames are to be received for now. */
  get isFull(): boolean {
    return this.#bytes > BYTES_MAX || !this.#isReady();
  }

  /** Resolves when no frame is being handled: all are done, or the next one may not be handled. */
  async drain(): Promise<void> {
    while (this.#handling !== null) await this.#handling;
  }

  push(frame: Buffer): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    this.run();
  }

  clear(): void {
    this.#frames = [];
    this.#bytes = 0;
  }

  run(): void {
    while (this.#handling === null && this.#frames.length > 0 && this.#isReady()) {
      const frame = this.#frames.shift() as Buffer;
      this.#bytes -= frame.length;
      const handled = this.#handle(frame);
      if (handled === null) continue;
      this.#handling = handled.then(() => {
        this.#handling = null;
        this.run();
      });
    }
    this.#onChange();
  }
}
