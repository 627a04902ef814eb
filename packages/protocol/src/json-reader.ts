/**
 * A JSON reader for what `JSON.parse` alters: a number that a double cannot hold, and, in Node 24 to 26, a key that is
 * written with escapes, which V8 may take for another one that some object of the process has had in the same place
 * (https://github.com/nodejs/node/issues/63785). It takes several times as long, and about as much memory: it is for texts
 * that need it.
 */

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
/** A key that is an index of an array too, and not one of the first. */
const INDEX = /^[1-9]\d{1,9}$/;

/**
 * Reads a text as `JSON.parse` should: the same texts, the same values, the last of equal keys. `toNumber` gives what
 * stands for a number, from its source.
 * @throws SyntaxError
 */
export function readJson(text: string, toNumber: (source: string) => unknown = Number): unknown {
  return new JsonReader(text, toNumber).read();
}

/** Whether a key in the text is written with an escape. Of what is no JSON it may say either. */
export function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at)) {
    at = endOfString(text, at);
    while (isSpace(text.charCodeAt(at))) at += 1;
    if (text.charCodeAt(at) === COLON) return true;
  }
  return false;
}

/** What follows the end of the string that `at` is in; beyond the end of the text where it does not end. */
function endOfString(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** An object or an array whose end has not come yet. */
class Open {
  readonly value: object;
  /** Of the value that comes next; null in an array. */
  key: string | null;

  constructor(value: object, key: string | null) {
    this.value = value;
    this.key = key;
  }

  add(value: unknown): void {
    if (this.key === null) (this.value as unknown[]).push(value);
    else setOwn(this.value, this.key, value);
  }

  /** An array that grew has room for more than it holds: for seventeen, where it holds one. */
  whole(): object {
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

  /** Without recursion: a text may be nested more deeply than the stack is. */
  read(): unknown {
    const open: Open[] = [];
    this.#skipSpace();
    for (;;) {
      let value = this.#begun();
      if (value instanceof Open) {
        open.push(value);
        continue;
      }
      this.#skipSpace();
      // It may be the last of what it is in, and that of what that is in.
      for (let around = open.at(-1); around !== undefined; around = open.at(-1)) {
        around.add(value);
        if (this.#takes(COMMA)) {
          this.#skipSpace();
          if (around.key !== null) around.key = this.#key();
          break;
        }
        this.#require(around.key === null ? CLOSE_ARRAY : CLOSE_OBJECT);
        this.#skipSpace();
        value = around.whole();
        open.pop();
      }
      if (open.length > 0) continue;
      if (this.#at < this.#text.length) throw this.#unexpected();
      return value;
    }
  }

  /** A whole value, or what has begun and is not empty. */
  #begun(): unknown {
    const code = this.#text.charCodeAt(this.#at);
    if (code === QUOTE) return this.#string();
    if (code === OPEN_OBJECT) {
      this.#stepInto();
      return this.#takes(CLOSE_OBJECT) ? {} : new Open({}, this.#key());
    }
    if (code === OPEN_ARRAY) {
      this.#stepInto();
      return this.#takes(CLOSE_ARRAY) ? [] : new Open([], null);
    }
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  /** A key, the colon and the space around it. */
  #key(): string {
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#unexpected();
    const key = this.#string();
    this.#skipSpace();
    this.#require(COLON);
    this.#skipSpace();
    return key;
  }

  /** `JSON.parse` reads rightly what is no key, and gives a string that does not keep the whole text. */
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

  /** Steps over what opens an object or an array, and the space after it. */
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
    return new SyntaxError(`what stands at character ${this.#at} is no JSON`);
  }
}

/** As an assignment, but for two kinds of keys that it takes for more than keys. */
function setOwn(object: object, key: string, value: unknown): void {
  const own = { value, writable: true, enumerable: true, configurable: true };
  if (key === '__proto__') Object.defineProperty(object, key, own);
  else if (INDEX.test(key) && !Object.hasOwn(object, key)) {
    // An assignment would make room for every index below: 12 KB for the key 1023. What was not writable is kept by itself.
    Object.defineProperty(object, key, { ...own, writable: false });
    Object.defineProperty(object, key, { writable: true });
  } else (object as Record<string, unknown>)[key] = value;
}
