import { queryString } from '../http/path.ts';
import { type OpenStream, openOwnStream } from './http-stream.ts';
import { SharedStream, type StreamReader } from './shared-stream.ts';
import { streamChunks } from './stream-connection.ts';

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
  const name = path + queryString(query);
  const shared = SharedStream.open(transport.base, await transport.token(), name, { read, report });
  return shared?.chunks(stops) ?? openOwnStream(transport, stream);
};
