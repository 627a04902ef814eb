import { queryString } from '../http/path.ts';
import { type OpenStream, openOwnStream } from './http-stream.ts';
import { SharedStream, type StreamReader } from './shared-stream.ts';
import { streamChunks } from './stream-connection.ts';
import { streamPermit } from './tab-locks.ts';

/** Reads the stream through a connection that the tabs of the browser share, where they have to and can. */
export const openPageStream: OpenStream = async (transport, stream) => {
  const { path, query, lastId, deadAfterMs, stops, report } = stream;
  const read: StreamReader['read'] = (isSnapshot, { signal, permit, onOpen }) =>
    streamChunks(transport, {
      path,
      query,
      lastId: isSnapshot ? '' : lastId(),
      deadAfterMs,
      signals: [signal, ...stops],
      permit,
      onOpen,
    });
  const { base } = transport;
  const name = path + queryString(query);
  const shared = isShareable(path)
    ? await SharedStream.open(base, await transport.tokens.get(), name, { read, report })
    : null;
  const permit = (signal: AbortSignal) => streamPermit(base, signal, ({ message }) => report(false, message));
  return shared?.chunks(stops, deadAfterMs) ?? openOwnStream(transport, stream, permit);
};

/**
 * One event of a thread's messages can append the text of several changes. A tab whose snapshot has some of that text would append it
 * again, so each tab reads the messages by itself.
 */
const isShareable = (path: string): boolean => !path.endsWith('/messages');
