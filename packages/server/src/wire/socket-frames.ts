/** The bytes of a WebSocket's messages from the server (RFC 6455, section 5), and the JSON of a watch's events in them. */
import type { StreamEvent } from './stream-event.ts';

/** Most bytes of one frame. A longer message is several frames, so that pings and the close can be sent between them. */
export const FRAME_MAX_BYTES = 16_384;

const FINAL = 0x80;
const TEXT = 0x1;
const CONTINUATION = 0x0;
const HEADER_MAX_BYTES = 4;
const NO_HEAD = Buffer.alloc(0);

/** A frame of at most {@link FRAME_MAX_BYTES} of these bytes: a whole text message, or one of its fragments. */
export function frameOf(parts: readonly Buffer[], isFirst = true, isLast = true): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const headerLength = length < 126 ? 2 : HEADER_MAX_BYTES;
  const frame = Buffer.allocUnsafe(headerLength + length);
  frame[0] = (isLast ? FINAL : 0) | (isFirst ? TEXT : CONTINUATION);
  if (headerLength === 2) frame[1] = length;
  else {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  }
  let at = headerLength;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** The frames of one text message, which begins with `head`. */
export function messageFrames(head: Buffer, rest: Buffer): Buffer[] {
  if (head.length + rest.length <= FRAME_MAX_BYTES) return [frameOf([head, rest])];
  const whole = Buffer.concat([head, rest]);
  const frames: Buffer[] = [];
  for (let from = 0; from < whole.length; from += FRAME_MAX_BYTES) {
    const to = from + FRAME_MAX_BYTES;
    frames.push(frameOf([whole.subarray(from, to)], from === 0, to >= whole.length));
  }
  return frames;
}

/** The frames of a text message as one buffer. Most are short, so their bytes are written where they stay. */
export function textMessage(text: string): Buffer {
  const length = Buffer.byteLength(text);
  if (length >= 126) return Buffer.concat(messageFrames(NO_HEAD, Buffer.from(text)));
  const frame = Buffer.allocUnsafe(2 + length);
  frame[0] = FINAL | TEXT;
  frame[1] = length;
  frame.write(text, 2);
  return frame;
}

/** The beginning of each message of a watch, which the JSON of its number names. */
export const watchHead = (watch: string): Buffer => Buffer.from(`{"watch":${watch},`);

/** An event of a watch without its {@link watchHead}: the same for all watches. */
export const watchedEvent = ({ name, id, data }: StreamEvent): string =>
  `"event":"${name}","id":"${id}","data":${data}}`;

/** The text before and after the entries of a snapshot, without its {@link watchHead}. */
export const watchedSnapshot = (id: string) => ({
  head: `"event":"snapshot","id":"${id}","data":{"users":[`,
  tail: ']}}',
});
