import type { OpenStream } from './http-stream.ts';
import { openPermittedStream, SharedStream } from './shared-stream.ts';

/** Reads the stream through a connection that the tabs of the browser share, where they have to and can. */
export const openPageStream: OpenStream = async (transport, stream) => {
  const shared = isShareable(stream.path) ? await SharedStream.open(transport, stream) : null;
  return shared?.chunks() ?? openPermittedStream(transport, stream);
};

/**
 * One event of a thread's messages can append the text of several changes. A tab whose snapshot has some of that text would append it
 * again, so each tab reads the messages by itself.
 */
const isShareable = (path: string): boolean => !path.endsWith('/messages');
