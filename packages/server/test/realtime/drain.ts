import type { ByteSink } from '../../src/realtime/sessions/sse-sink.ts';

/** A reader that stores nothing, and receives all of a text or nothing. */
export class Drain implements ByteSink {
  bytesWritten = 0;
  writableLength = 0;
  isEnded = false;
  readonly #isTaking: boolean;

  constructor(isTaking: boolean) {
    this.#isTaking = isTaking;
  }

  write(bytes: Buffer | string, onTaken: () => void = () => {}): void {
    this.bytesWritten += bytes.length;
    if (this.#isTaking) queueMicrotask(onTaken);
    else this.writableLength += bytes.length;
  }

  setTimeout(): void {}

  destroySoon(): void {
    this.isEnded = true;
  }

  destroy(): void {
    this.isEnded = true;
  }
}
