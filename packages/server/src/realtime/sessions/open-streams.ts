import type { Logger } from 'pino';
import type { Broker, Change } from '../../broker/broker.ts';
import { retryLater } from '../../core/service-error.ts';
import type { Store } from '../../store/store.ts';
import { CredentialChecks } from './credential-checks.ts';
import type { Watcher } from './stream-request.ts';

interface Parts {
  readonly store: Store;
  readonly broker: Broker;
  readonly log: Logger;
}

/** A stream that the server can end. */
interface OpenStream extends Watcher {
  /** The server stops. */
  stop(): void;
}

/** The open streams of one kind in this process. Those whose credentials end are ended. */
export class OpenStreams<Stream extends OpenStream> implements Iterable<Stream> {
  readonly #streams = new Set<Stream>();
  readonly #credentials: CredentialChecks;
  readonly #unsubscribe: () => void;
  #isClosed = false;

  constructor(parts: Parts) {
    this.#credentials = new CredentialChecks(parts, this.#streams);
    this.#unsubscribe = parts.broker.subscribe((change) => this.#onChange(change));
  }

  get size(): number {
    return this.#streams.size;
  }

  has(stream: Stream): boolean {
    return this.#streams.has(stream);
  }

  [Symbol.iterator](): Iterator<Stream> {
    return this.#streams.values();
  }

  /** @throws ServiceError when the server is stopping */
  requireOpen(): void {
    if (this.#isClosed) throw stopping();
  }

  add(stream: Stream): void {
    this.#streams.add(stream);
  }

  /** The stream, unless it has ended meanwhile. @throws ServiceError why it has */
  requireGoing(stream: Stream): Stream {
    if (stream.ending === null) return stream;
    throw stream.ending === 'closed' ? stopping() : stream.ending;
  }

  ended(stream: Stream): void {
    this.#streams.delete(stream);
    stream.request.viewer?.permit?.release();
  }

  /** Call it about once a second. */
  tick(): void {
    this.#credentials.tick();
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#isClosed = true;
    for (const stream of [...this.#streams]) stream.stop();
  }

  /** The same, and releases everything. Idempotent. */
  close(): void {
    this.stop();
    this.#unsubscribe();
  }

  #onChange(change: Change): void {
    if (change.type !== 'project' && change.type !== 'session') return;
    const concerned = [...this.#streams].filter(({ request: { caller } }) =>
      change.type === 'project'
        ? caller.projectId === change.projectId
        : caller.sessionId === change.sessionId,
    );
    void this.#credentials.check(concerned);
  }
}

const stopping = () => retryLater('the server is stopping; nothing was opened, try again');
