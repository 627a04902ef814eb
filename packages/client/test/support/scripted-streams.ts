/** Event streams of a scripted server. */
import { errorBody, type Received } from './scripted-server.ts';

/** The text of an event. */
export const written = (id: string, type: string, data: unknown): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

export const errorEvent = (...error: Parameters<typeof errorBody>): string =>
  `event: error\ndata: ${JSON.stringify(errorBody(...error))}\n\n`;

/** Short delays before reconnecting. */
export const SOON = 'retry: 4\n\n';

/** Opens a stream and writes the texts; the stream stays open. */
export function stream({ response }: Received, ...texts: (string | Uint8Array)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  for (const text of texts) response.write(text);
}

/** Opens a stream, writes the text, and resets the connection. */
export function cutStream(request: Received, text: string): void {
  request.response.writeHead(200, { 'content-type': 'text/event-stream' });
  request.response.write(text, () => request.response.socket?.resetAndDestroy());
}
