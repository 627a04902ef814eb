/** What a socket's connection has received and sent. */
interface Traffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly writableLength: number;
}

/**
 * Watches whether a peer is there, by ticks of a second. Ticks are counted instead of milliseconds: a process that gets no
 * processor time for a while has not read its sockets either. Also a peer that takes bytes is there.
 */
export class Liveness {
  readonly #pingAfter: number;
  readonly #endAfter: number;
  #seen = -1;
  #silent = 0;

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
}
