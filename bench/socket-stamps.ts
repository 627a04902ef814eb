/**
 * A stamp is a text in a location or in data: which page sent the update, and which one of that page it is. Its length is fixed, so it
 * is written into a frame and found in an event without parsing JSON: there are hundreds of thousands a second.
 */
import { clientFrame } from './socket-client.ts';

const MARK = '#';
const MARK_BYTE = MARK.charCodeAt(0);
const PAGE_DIGITS = 4;
const NUMBER_DIGITS = 8;
const ZERO = '0'.charCodeAt(0);
const NUMBER_AT = MARK.length + PAGE_DIGITS;
const STAMP_LENGTH = NUMBER_AT + NUMBER_DIGITS;

const digits = (value: number, count: number) => String(value).padStart(count, '0');

const stampText = (page: number, number: number) =>
  `${MARK}${digits(page, PAGE_DIGITS)}${digits(number, NUMBER_DIGITS)}`;

/** A frame of a page in which only the stamp changes. */
export class StampedFrame {
  /** The frame with the number 0. */
  readonly first: object;
  readonly #bytes: Buffer;
  readonly #numberAt: number;

  constructor(page: number, frameWith: (stamp: string) => object) {
    const stamp = stampText(page, 0);
    this.first = frameWith(stamp);
    this.#bytes = clientFrame(JSON.stringify(this.first));
    this.#numberAt = this.#bytes.indexOf(stamp) + NUMBER_AT;
  }

  /** The same bytes each time: the last frame must have been answered. */
  numbered(number: number): Buffer {
    this.#bytes.write(digits(number, NUMBER_DIGITS), this.#numberAt, 'latin1');
    return this.#bytes;
  }
}

/** Calls `take` with each stamp between two positions until it returns false. */
export function readStamps(
  bytes: Buffer,
  from: number,
  end: number,
  take: (page: number, number: number) => boolean,
): void {
  let at = bytes.indexOf(MARK_BYTE, from);
  while (at !== -1 && at + STAMP_LENGTH <= end) {
    const page = numberAt(bytes, at + MARK.length, PAGE_DIGITS);
    if (!take(page, numberAt(bytes, at + NUMBER_AT, NUMBER_DIGITS))) return;
    at = bytes.indexOf(MARK_BYTE, at + STAMP_LENGTH);
  }
}

function numberAt(bytes: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index += 1) value = value * 10 + (bytes[index] as number) - ZERO;
  return value;
}
