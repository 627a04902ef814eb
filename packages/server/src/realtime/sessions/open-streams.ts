import type { Logger } from 'pino';
import type { Broker, Notification } from '../../broker/broker.ts';
import { inTicks } from '../../concurrency/in-ticks.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Caller } from '../../core/caller.ts';
import type { RecordFollower } from '../../core/changes/record-follower.ts';
import type { Clock } from '../../core/clock.ts';
import { stopping } from '../../core/service-error.ts';
import type { Store } from '../../store/store.ts';
import { CredentialChecks } from './credential-checks.ts';
import { RecordedCredentials } from './recorded-credentials.ts';
import type { Watcher } from './stream-request.ts';

const TICK_MS = 1_000;
const HEARTBEAT_MS = 15_000;
/** How many streams are written to in one event-loop tick. */
const WRITTEN_AT_ONCE = 256;

interface Parts {
  readonly store: Store;
  readonly broker: Broker;
  readonly record: RecordFollower;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A stream that the server can end. */
interface OpenStream extends Watcher {
  /** The server stops. */
  stop(): void;
  /** Called every 15 seconds. */
  heartbeat?(): void;
}

/** The hub of the streams. */
interface StreamHub {
  /** Called once a second. */
  tick(): void;
  /** Called for what the Broker publishes. */
  onChange(change: Notification): void;
}

/** The open streams of one kind in this process, and what calls their hub. Those whose credentials end are ended. */
export class OpenStreams<Stream extends OpenStream> implements Iterable<Stream> {
  readonly #streams = new Set<Stream>();
  readonly #credentials: CredentialChecks;
  readonly #recorded: RecordedCredentials;
  readonly #stops: readonly (() => void)[];
  readonly #heartbeats = new Repeated(() =>
    inTicks([...this.#streams], WRITTEN_AT_ONCE, (stream) => stream.heartbeat?.()),
  );
  #isClosed = false;

  constructor(parts: Parts, hub: StreamHub) {
    this.#credentials = new CredentialChecks(parts, this.#streams);
    this.#recorded = new RecordedCredentials(parts, (project, sessionIds) =>
      this.#check(
        (caller) =>
          caller.project === project && (sessionIds === null || sessionIds.has(caller.sessionId ?? '')),
      ),
    );
    const { clock, broker } = parts;
    this.#stops = [
      clock.every(TICK_MS, () => {
        hub.tick();
        this.#recorded.tick();
        this.#credentials.tick();
      }),
      clock.every(HEARTBEAT_MS, () => void this.#heartbeats.request()),
      broker.subscribe((change) => {
        this.#onChange(change);
        hub.onChange(change);
      }),
    ];
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
    if (this.#recorded.opened(stream.request.caller.project)) void this.#credentials.check([stream]);
  }

  /** The stream, unless it has ended meanwhile. @throws ServiceError why it has */
  requireGoing(stream: Stream): Stream {
    if (stream.ending === null) return stream;
    throw stream.ending === 'closed' ? stopping() : stream.ending;
  }

  ended(stream: Stream): void {
    const { caller, viewer } = stream.request;
    if (this.#streams.delete(stream)) this.#recorded.ended(caller.project);
    viewer?.permit?.release();
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#isClosed = true;
    for (const stream of [...this.#streams]) stream.stop();
  }

  /** The same, and releases everything. Idempotent. */
  close(): void {
    this.stop();
    for (const stop of this.#stops) stop();
    this.#recorded.close();
  }

  #onChange(change: Notification): void {
    if (change.type === 'project') this.#check(({ projectId }) => projectId === change.projectId);
    if (change.type === 'session') this.#check(({ sessionId }) => sessionId === change.sessionId);
  }

  #check(isConcerned: (caller: Caller) => boolean): void {
    void this.#credentials.check([...this.#streams].filter(({ request }) => isConcerned(request.caller)));
  }
}
