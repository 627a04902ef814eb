/** The bytes of a WebSocket's messages from the server (RFC 6455, section 5), and the JSON in them. */
import { errorBody, errorFields, type PublicError } from './json-answer.ts';
import type { StreamEvent } from './stream-event.ts';

/** Most bytes of one frame. A longer message is several frames, so that pings and the close can be sent between them. */
const FRAME_MAX_BYTES = 16_384;

const FINAL = 0x80;
const TEXT = 0x1;
const CONTINUATION = 0x0;
const HEADER_MAX_BYTES = 4;

/** A frame of at most {@link FRAME_MAX_BYTES} of these bytes: a whole text message, or one of its fragments. */
export function frameOf(parts: readonly Buffer[], isFirst = true, isLast = true): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const frame = emptyFrame((isLast ? FINAL : 0) | (isFirst ? TEXT : CONTINUATION), length);
  let at = frame.length - length;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** A frame with its header, of which the last `length` bytes are to be written. */
function emptyFrame(kind: number, length: number): Buffer {
  const headerLength = length < 126 ? 2 : HEADER_MAX_BYTES;
  const frame = Buffer.allocUnsafe(headerLength + length);
  frame[0] = kind;
  if (headerLength === 2) frame[1] = length;
  else {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  }
  return frame;
}

/** A text of so many bytes as one frame. */
function wholeFrame(text: string, length: number): Buffer {
  const frame = emptyFrame(FINAL | TEXT, length);
  frame.write(text, frame.length - length);
  return frame;
}

/** The frames of one text message. Most are short, so their bytes are written where they stay. */
export function messageFrames(text: string): Buffer[] {
  const length = Buffer.byteLength(text);
  if (length <= FRAME_MAX_BYTES) return [wholeFrame(text, length)];
  const whole = Buffer.from(text);
  const frames: Buffer[] = [];
  for (let from = 0; from < whole.length; from += FRAME_MAX_BYTES) {
    const to = from + FRAME_MAX_BYTES;
    frames.push(frameOf([whole.subarray(from, to)], from === 0, to >= whole.length));
  }
  return frames;
}

export function textMessage(text: string): Buffer {
  const frames = messageFrames(text);
  return frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames);
}

export const doneFrame = (ref: number | null): string => `{"ref":${JSON.stringify(ref)},"ok":true}`;

export const rejectedFrame = (ref: number | null, error: PublicError): string =>
  `{"ref":${JSON.stringify(ref)},${errorFields(error)}}`;

export const expiringFrame = (seconds: number): string => `{"event":"expiring","in":${seconds}}`;

/** The last message of a watch. */
export const endedFrame = (watch: number, error: PublicError): string =>
  `${watchHead(JSON.stringify(watch))}"event":"ended","data":${errorBody(error)}}`;

/** The beginning of each message of a watch, which the JSON of its number names. */
export const watchHead = (watch: string): string => `{"watch":${watch},`;

/** An event of a watch without its {@link watchHead}: the same for all watches. */
export const watchedEvent = ({ name, id, data }: StreamEvent): string =>
  `"event":"${name}","id":"${id}","data":${data}}`;

/** The text before and after the entries of a snapshot, without its {@link watchHead}. */
export const watchedSnapshot = (id: string) => ({
  head: `"event":"snapshot","id":"${id}","data":{"users":[`,
  tail: ']}}',
});
