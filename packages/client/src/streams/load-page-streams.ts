import { RollcallError } from '../rollcall-error.ts';
import type { LoadStreams } from './http-stream.ts';

/** Most pages have a socket, so the code of streams over HTTP is loaded on demand. */
export const loadPageStreams: LoadStreams = async () => {
  const { openPageStream } = await import('./page-stream.ts').catch((cause: unknown) => {
    const message = `the script that reads streams over HTTP was not loaded, reload the page: ${cause}`;
    throw new RollcallError('network', message, { cause });
  });
  return openPageStream;
};
