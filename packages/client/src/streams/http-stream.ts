import type { MaybeSignal } from '../http/deadline.ts';
import type { Query } from '../http/path.ts';
import {
  type StreamChunk,
  type StreamRequest,
  type StreamTransport,
  streamChunks,
} from './stream-connection.ts';

/** A stream to read over HTTP. */
export interface HttpStream {
  readonly path: string;
  readonly query: Query;
  /** The ID of the last event that the consumer has taken, at any time. */
  readonly lastId: () => string;
  readonly deadAfterMs: number | undefined;
  /** End the stream. */
  readonly stops: readonly MaybeSignal[];
  /** The stream is open for its reader, or not and why. */
  readonly report: (isOpen: boolean, reason?: string) => void;
}

/** Begins to read a stream. @throws RollcallError, also while it is read, whenever the connection ends */
export type OpenStream = (
  transport: StreamTransport,
  stream: HttpStream,
) => Promise<AsyncGenerator<StreamChunk, void, undefined>>;

/** Gets the code that reads streams. @throws RollcallError `network` where it has to be loaded and cannot be */
export type LoadStreams = () => Promise<OpenStream>;

/** Reads the stream through a connection of its own. */
export const openOwnStream = async (
  transport: StreamTransport,
  { lastId, stops, report, ...stream }: HttpStream,
  permit: StreamRequest['permit'] = async () => () => {},
): ReturnType<OpenStream> =>
  streamChunks(transport, {
    ...stream,
    lastId: lastId(),
    signals: stops,
    permit,
    onOpen: () => report(true),
  });
