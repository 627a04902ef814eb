/** What a socket's connection has received and sent. */
interface Traffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly writableLength: number;
}

/** A client that has not ended its connection so many ticks after its close frame leaves it open, or its frames take long. */
const LEFT_OPEN_TICKS = 2;
/** How long after its close frame a socket may handle the frames before it, in ticks. */
const CLOSING_TICKS = 10;

/**
 * Watches whether a peer is there, by ticks of a second. Ticks are counted instead of milliseconds: a process that gets no
 * processor time for a while has not read its sockets either. Also a peer that takes bytes is there.
 */
export class Liveness {
  readonly #pingAfter: number;
  readonly #endAfter: number;
  #seen = -1;
  #silent = 0;
  #closing = 0;

  constructor(timeoutSeconds: number) {
    this.#pingAfter = Math.max(1, Math.floor(timeoutSeconds / 2));
    this.#endAfter = Math.max(timeoutSeconds, this.#pingAfter + 1);
  }

  /** Call it once a second: what is to be done. */
  tick({ bytesRead, bytesWritten, writableLength }: Traffic): 'nothing' | 'ping' | 'end' {
    const seen = bytesRead + (writableLength > 0 ? bytesWritten - writableLength : 0);
    this.#silent = seen === this.#seen ? this.#silent + 1 : 0;
    this.#seen = seen;
    if (this.#silent >= this.#endAfter) return 'end';
    return this.#silent === this.#pingAfter ? 'ping' : 'nothing';
  }

  /** The same after a close frame: to end is to give up the frames before it, and to drain is to wait for them first. */
  closingTick(): 'nothing' | 'drain' | 'end' {
    this.#closing += 1;
    if (this.#closing > CLOSING_TICKS) return 'end';
    return this.#closing === LEFT_OPEN_TICKS ? 'drain' : 'nothing';
  }
}
