import { Deadline, type MaybeSignal } from '../http/deadline.ts';
import { listen } from '../listen.ts';
import { RollcallError } from '../rollcall-error.ts';
import { EventQueue } from './event-queue.ts';
import type { StreamEvent } from './event-stream.ts';
import type { StreamChunk, StreamRequest } from './stream-connection.ts';
import { areConnectionsShared, snapshotPermit, streamPermit, tabLock } from './tab-locks.ts';

/** Whether the tab that reads the stream has it open, and why not. */
interface State {
  readonly kind: 'state';
  readonly isOpen: boolean;
  readonly reason?: string | undefined;
}

/** What tabs send each other about one stream. `session` names the tab that reads it for all. */
type Message =
  | State
  | { readonly kind: 'event'; readonly session: string; readonly event: StreamEvent }
  | { readonly kind: 'question' };

/** The part of a BroadcastChannel that is used here. */
interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: Message): void;
  close(): void;
}

/** The claims of a token that do not say whose it is. */
const TIMES: readonly string[] = ['iat', 'exp', 'nbf', 'jti'];

/** What a tab needs to read the stream by itself. */
export interface StreamReader {
  /** Opens a connection: of the stream, after the last event that the consumer has taken, or for a snapshot alone. */
  read(isSnapshot: boolean, connection: ReaderConnection): AsyncGenerator<StreamChunk, void, undefined>;
  /** The stream is open for this tab, or not and why. */
  report(isOpen: boolean, reason?: string): void;
}

export type ReaderConnection = Pick<StreamRequest, 'permit' | 'onOpen'> & { readonly signal: AbortSignal };

/**
 * One stream that all tabs of a browser share which watch the same as the same user. The tab that has its lock reads it and
 * publishes its events; when that tab goes, the next one has the lock. A tab that comes later reads a snapshot by itself, and
 * applies the events that come after the snapshot.
 */
export class SharedStream {
  readonly #base: string;
  readonly #name: string;
  readonly #reader: StreamReader;
  readonly #channel: Channel;
  readonly #session: string = `${Math.random()}`;
  readonly #queue = new EventQueue<StreamEvent>();
  /** The session of the events in the queue. Undefined: none has come since the snapshot. */
  #from: string | undefined;
  #isLeading = false;
  #hasSnapshot = false;
  /** Of the tab that reads the stream. */
  #state: State = { kind: 'state', isOpen: false };
  #reported: State | undefined;

  private constructor(
    base: string,
    name: string,
    Channel: new (name: string) => Channel,
    reader: StreamReader,
  ) {
    this.#base = base;
    this.#name = name;
    this.#reader = reader;
    this.#channel = new Channel(name);
    this.#channel.onmessage = ({ data }) => this.#receive(data as Message);
  }

  /** Null where tabs do not have to share, or cannot. `stream` names the stream among those of the token's user. */
  static open(base: string, token: string, stream: string, reader: StreamReader): SharedStream | null {
    const { BroadcastChannel } = globalThis as { BroadcastChannel?: new (name: string) => Channel };
    const user = claimsOf(token);
    if (user === null || BroadcastChannel === undefined || !areConnectionsShared(base)) return null;
    try {
      return new SharedStream(base, JSON.stringify([base, user, stream]), BroadcastChannel, reader);
    } catch {
      // A browser that blocks storage for the page blocks channels too.
      return null;
    }
  }

  /** The stream's events, until one of the signals aborts. @throws RollcallError whenever a connection of this tab ends */
  async *chunks(signals: readonly MaybeSignal[]): AsyncGenerator<StreamChunk, void, undefined> {
    const deadline = new Deadline(Number.POSITIVE_INFINITY, signals);
    const { signal } = deadline;
    const fail = (error: unknown) => deadline.fail(deadline.explain(error));
    const lead = (release: () => void) => {
      listen(signal, 'abort', release);
      if (signal.aborted) release();
      else this.#lead(signal).catch(fail);
    };
    try {
      const free = await tabLock(this.#name, { ifAvailable: true });
      let snapshotId = '';
      if (free !== null) lead(free);
      else {
        // Resolves when the tab that reads the stream is gone.
        void tabLock(this.#name, { signal }).then((release) => release !== null && lead(release));
        snapshotId = yield* this.#snapshot(signal);
      }
      for (;;) {
        const event = await this.#queue.next(deadline);
        if (event === null) snapshotId = yield* this.#snapshot(signal);
        else if (!isWithin(snapshotId, event)) yield chunkOf(event);
      }
    } finally {
      deadline.fail(new RollcallError('aborted', 'the stream was closed'));
      this.#channel.close();
    }
  }

  /** Reads the stream and publishes it. What waits in the queue is read again. @throws RollcallError when the connection ends */
  async #lead(signal: AbortSignal): Promise<void> {
    this.#isLeading = true;
    this.#hasSnapshot = true;
    this.#begin();
    const publishState = (isOpen: boolean, reason?: string) => {
      this.#state = { kind: 'state', isOpen, reason };
      this.#channel.postMessage(this.#state);
      this.#report();
    };
    const permit = (aborted: AbortSignal) =>
      streamPermit(this.#base, aborted, ({ message }) => publishState(false, message));
    const onOpen = () => publishState(true);
    for await (const { messages } of this.#reader.read(false, { signal, permit, onOpen })) {
      for (const event of messages) {
        this.#channel.postMessage({ kind: 'event', session: this.#session, event });
        this.#push(event, this.#session);
      }
    }
  }

  /** Reads the state; what is published from now on follows it. Returns the ID of the snapshot. */
  async *#snapshot(signal: AbortSignal): AsyncGenerator<StreamChunk, string, undefined> {
    this.#hasSnapshot = this.#isLeading;
    this.#begin();
    const connection = { signal, permit: snapshotPermit, onOpen: () => {} };
    for await (const { messages } of this.#reader.read(true, connection)) {
      const [snapshot] = messages;
      if (snapshot === undefined) continue;
      yield chunkOf(snapshot);
      this.#hasSnapshot = true;
      this.#channel.postMessage({ kind: 'question' });
      return snapshot.id;
    }
    return '';
  }

  #receive(message: Message): void {
    if (this.#isLeading) {
      if (message.kind === 'question') this.#channel.postMessage(this.#state);
    } else if (message.kind === 'event') this.#push(message.event, message.session);
    else if (message.kind === 'state') {
      this.#state = message;
      this.#report();
    }
  }

  #report(): void {
    const { isOpen, reason } = this.#state;
    if (!this.#hasSnapshot) return;
    if (isOpen === this.#reported?.isOpen && reason === this.#reported.reason) return;
    this.#reported = this.#state;
    this.#reader.report(isOpen, reason);
  }

  #begin(): void {
    this.#queue.clear();
    this.#from = this.#isLeading ? this.#session : undefined;
  }

  /** Another tab reads the stream now: what was between its events and those before is lost. */
  #push(event: StreamEvent, session: string): void {
    this.#from ??= session;
    if (this.#from === session) this.#queue.push(event);
    else this.#queue.lose();
  }
}

const chunkOf = (event: StreamEvent): StreamChunk => ({
  messages: [event],
  lastId: event.id,
  retryMs: undefined,
});

/** Whether an event is part of the snapshot with this ID. IDs are an epoch and a number, which counts up. */
export function isWithin(snapshotId: string, { id }: StreamEvent): boolean {
  const [epoch, at] = snapshotId.split('-');
  const [ofEvent, position] = id.split('-');
  return epoch === ofEvent && Number(position) <= Number(at);
}

/** Whose token it is, as text; null where it is none that names its user. */
function claimsOf(token: string): string | null {
  try {
    const [, payload = ''] = token.split('.');
    const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    return JSON.stringify(
      claims,
      Object.keys(claims)
        .filter((name) => !TIMES.includes(name))
        .sort(),
    );
  } catch {
    return null;
  }
}
