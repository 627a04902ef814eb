import { Deadline } from '../http/deadline.ts';
import { queryString } from '../http/path.ts';
import { onAbort } from '../listen.ts';
import { RollcallError } from '../rollcall-error.ts';
import { EventQueue } from './event-queue.ts';
import { type HttpStream, type OpenStream, openOwnStream } from './http-stream.ts';
import { onSilence } from './silence.ts';
import type { StreamChunk, StreamTransport } from './stream-connection.ts';
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
  | { readonly kind: 'chunk'; readonly session: string; readonly chunk: StreamChunk }
  | { readonly kind: 'question' };

/** The part of a BroadcastChannel that is used here. */
interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: Message): void;
  close(): void;
}

/** Of the messages between tabs. Tabs with different versions of the client share nothing. */
const FORMAT = 3;

/** The claims of a token that do not identify its user. */
const TIMES: readonly string[] = ['iat', 'exp', 'nbf', 'jti'];

/** Reads the stream of this tab alone, as soon as the tabs of the browser have a connection left for it. */
export const openPermittedStream: OpenStream = (transport, stream) => {
  const onWait = (reason: string) => stream.report(false, reason);
  return openOwnStream(transport, stream, (signal) => streamPermit(transport.base, signal, onWait));
};

/**
 * One stream that all tabs of a browser share which watch the same as the same user. The tab that has its lock reads it and
 * publishes what it receives; when that tab goes, the next one has the lock. A tab that comes later reads a snapshot by itself,
 * and applies the events that come after the snapshot. It takes the lock away from a tab that publishes nothing any more.
 */
export class SharedStream {
  readonly #transport: StreamTransport;
  readonly #stream: HttpStream;
  readonly #user: string;
  readonly #name: string;
  readonly #channel: Channel;
  readonly #session: string = `${Math.random()}`;
  readonly #queue = new EventQueue<StreamChunk>();
  /** The session of what is in the queue. Undefined: nothing has come since the snapshot. */
  #from: string | undefined;
  #isLeading = false;
  /** When the tab that reads the stream has published something, in milliseconds. */
  #receivedAt: number = Date.now();
  #hasSnapshot = false;
  /** Of the tab that reads the stream. */
  #state: State = { kind: 'state', isOpen: false };
  #reported: State | undefined;

  private constructor(
    transport: StreamTransport,
    stream: HttpStream,
    user: string,
    name: string,
    channel: Channel,
  ) {
    this.#transport = transport;
    this.#stream = stream;
    this.#user = user;
    this.#name = name;
    this.#channel = channel;
    this.#channel.onmessage = ({ data }) => {
      if (isMessage(data)) this.#receive(data);
    };
  }

  /** Null where tabs do not have to share, or cannot. */
  static async open(transport: StreamTransport, stream: HttpStream): Promise<SharedStream | null> {
    const { BroadcastChannel } = globalThis as { BroadcastChannel?: new (name: string) => Channel };
    const { base, tokens } = transport;
    const user = claimsOf(await tokens.get());
    if (user === null || BroadcastChannel === undefined || !(await areConnectionsShared(base))) return null;
    const name = JSON.stringify([FORMAT, base, user, stream.path + queryString(stream.query)]);
    try {
      return new SharedStream(transport, stream, user, name, new BroadcastChannel(name));
    } catch {
      // A browser that blocks storage for the page blocks channels too.
      return null;
    }
  }

  /**
   * The stream, until it is stopped. @throws RollcallError whenever a connection of this tab ends; `timeout` when the tab that reads
   * the stream publishes nothing for `deadAfterMs`
   */
  async *chunks(): AsyncGenerator<StreamChunk, void, undefined> {
    const { stops, deadAfterMs } = this.#stream;
    const deadline = new Deadline(Number.POSITIVE_INFINITY, stops);
    const { signal } = deadline;
    const fail = (error: unknown) => deadline.fail(deadline.explain(error));
    const lead = (release: () => void) => {
      onAbort(signal, release);
      if (!signal.aborted) this.#lead(signal).catch(fail);
    };
    const onLost = () => fail(new RollcallError('network', 'another tab reads the stream now'));
    onSilence(
      signal,
      deadAfterMs,
      () => this.#silentSince(),
      (error) => {
        fail(error);
        // The tab that reads the stream is suspended: the browser gives the lock to the next one.
        void tabLock(this.#name, { steal: true }).then((release) => release?.());
      },
    );
    try {
      const free = await tabLock(this.#name, { ifAvailable: true }, onLost);
      let snapshotId = '';
      if (free !== null) lead(free);
      else {
        // Resolves when the tab that reads the stream is gone.
        void tabLock(this.#name, { signal }, onLost).then((release) => release !== null && lead(release));
        snapshotId = yield* this.#snapshot(signal);
      }
      for (;;) {
        const chunk = await this.#queue.next(deadline);
        if (chunk === null) snapshotId = yield* this.#snapshot(signal);
        else if (!isBefore(chunk.lastId, snapshotId)) yield chunk;
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
    const report = (isOpen: boolean, reason?: string) => {
      if (isOpen) this.#checkUser();
      this.#state = { kind: 'state', isOpen, reason };
      this.#channel.postMessage(this.#state);
      this.#report();
    };
    const stream = { ...this.#stream, stops: [signal], report };
    for await (const chunk of await openPermittedStream(this.#transport, stream)) {
      // Heartbeats too: without them, the others take this tab for suspended.
      this.#channel.postMessage({ kind: 'chunk', session: this.#session, chunk });
      this.#push(chunk, this.#session);
    }
  }

  /** Reads the state; what is published from now on follows it. Returns the ID of the snapshot. */
  async *#snapshot(signal: AbortSignal): AsyncGenerator<StreamChunk, string, undefined> {
    this.#hasSnapshot = this.#isLeading;
    this.#begin();
    const snapshot = await this.#readSnapshot(signal);
    yield snapshot;
    this.#hasSnapshot = true;
    this.#channel.postMessage({ kind: 'question' });
    return snapshot.lastId;
  }

  /** The permit is released before the consumer handles the snapshot, because the consumer can wait for another snapshot. */
  async #readSnapshot(signal: AbortSignal): Promise<StreamChunk> {
    const stream = { ...this.#stream, stops: [signal], lastId: () => '', report: () => this.#checkUser() };
    const permit = (aborted: AbortSignal) => snapshotPermit(this.#transport.base, aborted);
    for await (const chunk of await openOwnStream(this.#transport, stream, permit)) {
      const snapshot = partsOf(chunk).find(({ messages }) => messages.length > 0);
      if (snapshot !== undefined) return snapshot;
    }
    throw new RollcallError('network', 'the server sent no snapshot');
  }

  /** A token that is rejected while the stream opens can be followed by one of a user who has logged in since. @throws RollcallError */
  #checkUser(): void {
    if (claimsOf(this.#transport.tokens.latest ?? '') !== this.#user)
      throw new RollcallError('network', 'the token is of another user now');
  }

  #receive(message: Message): void {
    if (this.#isLeading) {
      if (message.kind === 'question') this.#channel.postMessage(this.#state);
    } else if (message.kind !== 'question') {
      this.#receivedAt = Date.now();
      if (message.kind === 'chunk') this.#push(message.chunk, message.session);
      else {
        this.#state = message;
        this.#report();
      }
    }
  }

  /** Null while this tab reads the stream, and while the tab that does waits for a connection. */
  #silentSince(): number | null {
    return this.#isLeading || this.#state.reason !== undefined ? null : this.#receivedAt;
  }

  #report(): void {
    const { isOpen, reason } = this.#state;
    if (!this.#hasSnapshot) return;
    if (isOpen === this.#reported?.isOpen && reason === this.#reported.reason) return;
    this.#reported = this.#state;
    this.#stream.report(isOpen, reason);
  }

  #begin(): void {
    this.#queue.clear();
    this.#from = this.#isLeading ? this.#session : undefined;
  }

  #push(chunk: StreamChunk, session: string): void {
    this.#from ??= session;
    if (this.#from === session) for (const part of partsOf(chunk)) this.#queue.push(part);
    // Another tab reads the stream now: what was between its events and those before is lost.
    else this.#queue.push(null);
  }
}

/** Whether it is a message between tabs: any script of the origin can send on the channel. */
function isMessage(data: unknown): data is Message {
  const { kind, isOpen, session, chunk } = Object(data);
  if (kind === 'chunk') return typeof session === 'string' && isChunk(Object(chunk));
  return kind === 'question' || (kind === 'state' && typeof isOpen === 'boolean');
}

const isChunk = ({ messages, lastId, retryMs = 0 }: Partial<StreamChunk>): boolean =>
  typeof lastId === 'string' &&
  typeof retryMs === 'number' &&
  Array.isArray(messages) &&
  messages.every((each) => typeof each?.id === 'string');

/** A chunk for each event, because the queue is bounded by their number. A heartbeat stays one chunk. */
const partsOf = (chunk: StreamChunk): readonly StreamChunk[] =>
  chunk.messages.length === 0
    ? [chunk]
    : chunk.messages.map((event) => ({ messages: [event], lastId: event.id, retryMs: chunk.retryMs }));

/**
 * Whether an event with this ID is part of the snapshot. IDs are an epoch and an offset, which counts up. Of several events of one
 * offset only the last one has its ID, and the others have the ID of the offset before: so an event with the ID of the snapshot
 * can be missing in it. The last event of the snapshot can come again, which changes nothing.
 */
function isBefore(id: string, snapshotId: string): boolean {
  const [epoch, offset] = id.split('-');
  const [snapshotEpoch, snapshotOffset] = snapshotId.split('-');
  return epoch === snapshotEpoch && Number(offset) < Number(snapshotOffset);
}

/** The claims that identify the user of the token, as text; null for a token whose claims cannot be read. */
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
