/**
 * A JSON parser for texts that `JSON.parse` alters (see ADR 17): numbers that a double cannot represent, and, in Node 24 to 26,
 * keys with escapes, which V8 can confuse with the key of another object in the process
 * (https://github.com/nodejs/node/issues/63785). It takes several times as long as `JSON.parse`, and about as much memory.
 */

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERALS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
/** A key that is an array index, except 0 to 9. */
const INDEX = /^[1-9]\d{1,9}$/;

/**
 * Parses a text as `JSON.parse` should: it accepts the same texts and returns the same values; the last of equal keys
 * wins. `toNumber` converts the source of each number.
 * @throws SyntaxError
 */
export function readJson(text: string, toNumber: (source: string) => unknown = Number): unknown {
  return new JsonReader(text, toNumber).read();
}

/** Whether a key in the text has an escape. The result is arbitrary for a text that is not JSON. */
export function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at)) {
    at = endOfString(text, at);
    while (isSpace(text.charCodeAt(at))) at += 1;
    if (text.charCodeAt(at) === COLON) return true;
  }
  return false;
}

/** The position after the string that contains `from`; beyond the text when the string does not end. */
function endOfString(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** An object or array that is being read. */
class Container {
  readonly value: object;
  /** The key of the next value; null in an array. */
  key: string | null;

  constructor(value: object, key: string | null) {
    this.value = value;
    this.key = key;
  }

  add(value: unknown): void {
    if (this.key === null) (this.value as unknown[]).push(value);
    else setOwn(this.value, this.key, value);
  }

  /** The finished value. A copied array gives back the spare capacity of one that grew (17 items for one). */
  finished(): object {
    return Array.isArray(this.value) ? this.value.slice() : this.value;
  }
}

class JsonReader {
  readonly #text: string;
  readonly #toNumber: (source: string) => unknown;
  #at = 0;

  constructor(text: string, toNumber: (source: string) => unknown) {
    this.#text = text;
    this.#toNumber = toNumber;
  }

  /** Without recursion: a text can be nested more deeply than the stack. */
  read(): unknown {
    const open: Container[] = [];
    this.#skipSpace();
    for (;;) {
      let value = this.#valueOrContainer();
      if (value instanceof Container) {
        open.push(value);
        continue;
      }
      this.#skipSpace();
      // A value can end its container, and that one the container around it.
      for (let around = open.at(-1); around !== undefined; around = open.at(-1)) {
        around.add(value);
        if (this.#takes(COMMA)) {
          this.#skipSpace();
          if (around.key !== null) around.key = this.#key();
          break;
        }
        this.#require(around.key === null ? CLOSE_ARRAY : CLOSE_OBJECT);
        this.#skipSpace();
        value = around.finished();
        open.pop();
      }
      if (open.length > 0) continue;
      if (this.#at < this.#text.length) throw this.#unexpected();
      return value;
    }
  }

  /** A whole value, or a container that is not empty. */
  #valueOrContainer(): unknown {
    const code = this.#text.charCodeAt(this.#at);
    if (code === QUOTE) return this.#string();
    if (code === OPEN_OBJECT) {
      this.#stepInto();
      return this.#takes(CLOSE_OBJECT) ? {} : new Container({}, this.#key());
    }
    if (code === OPEN_ARRAY) {
      this.#stepInto();
      return this.#takes(CLOSE_ARRAY) ? [] : new Container([], null);
    }
    for (const [literal, value] of LITERALS) {
      if (!this.#text.startsWith(literal, this.#at)) continue;
      this.#at += literal.length;
      return value;
    }
    return this.#number();
  }

  /** A key, the colon and the whitespace around it. */
  #key(): string {
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#unexpected();
    const key = this.#string();
    this.#skipSpace();
    this.#require(COLON);
    this.#skipSpace();
    return key;
  }

  /** `JSON.parse` has no defect with strings that are not keys, and its result does not retain the whole text. */
  #string(): string {
    const start = this.#at;
    this.#at = endOfString(this.#text, start + 1);
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #number(): unknown {
    NUMBER.lastIndex = this.#at;
    const source = NUMBER.exec(this.#text)?.[0];
    if (source === undefined) throw this.#unexpected();
    this.#at += source.length;
    return this.#toNumber(source);
  }

  /** Skips the opening bracket and the whitespace after it. */
  #stepInto(): void {
    this.#at += 1;
    this.#skipSpace();
  }

  #require(code: number): void {
    if (!this.#takes(code)) throw this.#unexpected();
  }

  #takes(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`unexpected character at position ${this.#at}`);
  }
}

/** Assigns a property, also for the two kinds of keys that an assignment treats specially. */
function setOwn(object: object, key: string, value: unknown): void {
  const own = { value, writable: true, enumerable: true, configurable: true };
  if (key === '__proto__') Object.defineProperty(object, key, own);
  else if (INDEX.test(key) && !Object.hasOwn(object, key)) {
    // An assignment allocates all lower indexes (12 KB for the key 1023); a property that was not writable is stored alone.
    Object.defineProperty(object, key, { ...own, writable: false });
    Object.defineProperty(object, key, { writable: true });
  } else (object as Record<string, unknown>)[key] = value;
}
