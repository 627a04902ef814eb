/** Where a stream's bytes go: of a socket, what is needed here. */
export interface StreamSink {
  /** Bytes that were written and that the network has not taken yet. They count until the last of one writing is taken. */
  readonly writableLength: number;
  /** All bytes that were ever written. */
  readonly bytesWritten: number;
  /** `onTaken` is called, never at once, when the network has taken them, or the sink has ended. */
  write(bytes: Buffer | string, onTaken?: () => void): unknown;
  setTimeout(timeoutMs: number, listener: () => void): unknown;
  /** Ends when what was written has been taken. */
  destroySoon(): void;
  /** Ends at once. */
  destroy(): void;
}
