import { limits } from '@rollcall/protocol';
import type { AuthenticatedClient } from '../../auth/client-claims.ts';
import type { WriterOf } from '../../core/caller.ts';
import { ServiceError } from '../../core/service-error.ts';
import { invalidField } from '../../core/validation-error.ts';
import type { Session } from '../../realtime/sessions/session.ts';
import type { WatchRequest } from '../../realtime/sessions/stream-request.ts';
import { callersWords, type Words } from '../older-names.ts';
import { type WatchOwner, WatchSink } from './watch-sink.ts';

type Writer = WriterOf<AuthenticatedClient>;

/** How the stream of a watch is opened, in this order. */
interface Opening {
  /** Returns the ID of the group that is watched. @throws ServiceError (a rejection) where the user may not watch it */
  enter(): Promise<string>;
  start(watching: WatchRequest): Promise<Session>;
}

interface Watch {
  readonly groupId: string;
  readonly session: Session;
  /** Those of the frame that opened it. */
  readonly words: Words;
}

/** A watcher whose credentials are those of the socket at the time of each check. There is one for each watch, so it is small. */
class SocketWatchRequest implements WatchRequest {
  readonly caller: Writer;
  readonly groupId: string;
  readonly viewer: { readonly userId: string };
  readonly #owner: WatchOwner;

  constructor(owner: WatchOwner, caller: Writer, groupId: string) {
    this.#owner = owner;
    this.caller = caller;
    this.groupId = groupId;
    this.viewer = caller;
  }

  get credentials(): string | undefined {
    return this.#owner.credentials;
  }

  checkCredentials(): unknown {
    return this.#owner.checkCredentials();
  }
}

/** The watches of one socket: streams like those of HTTP, whose events go to the socket. */
export class SocketWatches {
  readonly #owner: WatchOwner;
  readonly #watches = new Map<number, Watch>();
  #isClosed = false;

  constructor(owner: WatchOwner) {
    this.#owner = owner;
  }

  get groupIds(): string[] {
    return [...this.#watches.values()].map(({ groupId }) => groupId);
  }

  /**
   * Opens a watch. Call the result once the frame is answered: the events follow. @throws ServiceError where there are too many,
   * or the number is taken, or as for the stream of the same kind
   */
  async open(
    writer: Writer,
    frame: { readonly ref: number },
    { enter, start }: Opening,
  ): Promise<() => void> {
    const { ref } = frame;
    if (this.#watches.has(ref)) throw taken();
    if (this.#watches.size >= limits.SOCKET_WATCHES_MAX) throw tooMany();
    const groupId = await enter();
    const session = await start(new SocketWatchRequest(this.#owner, writer, groupId));
    // The socket can end while the watch opens.
    if (this.#isClosed) session.close();
    else this.#watches.set(ref, { groupId, session, words: callersWords({ body: frame, caller: writer }) });
    return () => session.start(new WatchSink(ref, this.#owner));
  }

  /** Returns how its caller is sent an error. @throws ServiceError `invalid_field` where there is no such watch */
  close(watch: number): Words {
    const known = this.#watches.get(watch);
    if (known === undefined) throw unknown();
    this.#watches.delete(watch);
    known.session.finish();
    return known.words;
  }

  /** Ends all, and those that are opening. */
  closeAll(): void {
    this.#isClosed = true;
    for (const { session } of this.#watches.values()) session.close();
    this.#watches.clear();
  }

  /** The watch has ended by itself. Returns how its caller is sent the error; null where it was not open any more. */
  forget(watch: number): Words | null {
    const words = this.#watches.get(watch)?.words ?? null;
    this.#watches.delete(watch);
    return words;
  }

  of(groupId: string): number[] {
    return [...this.#watches].filter(([, own]) => own.groupId === groupId).map(([ref]) => ref);
  }

  /** The network takes more: readers who lag continue. */
  resume(): void {
    for (const { session } of this.#watches.values()) session.resume();
  }
}

const taken = () => invalidField('ref', 'a number that names no open watch');

const unknown = () => invalidField('watch', 'the ref of an open watch');

const tooMany = () =>
  new ServiceError(
    'invalid_request',
    `the socket has ${limits.SOCKET_WATCHES_MAX} watches, which is the most; end one first`,
  );
