/** Where a stream's bytes go: what is needed here of a socket. */
export interface StreamSink {
  /** Bytes that were written and not yet taken by the network. Those of one write count until the last one is taken. */
  readonly writableLength: number;
  /** All bytes that were ever written. */
  readonly bytesWritten: number;
  /** `onTaken` is called, never synchronously, when the network has taken the bytes or the sink has ended. */
  write(bytes: Buffer | string, onTaken?: () => void): unknown;
  setTimeout(timeoutMs: number, listener: () => void): unknown;
  /** Ends when what was written has been taken. */
  destroySoon(): void;
  /** Ends at once. */
  destroy(): void;
}
