import type { Text } from './pieces.ts';

/** How many texts are stored, and how many bytes in all: readers who come after one another have mostly missed the same. */
const TEXTS_MAX = 8;
const BYTES_MAX = 1_048_576;

/** What was written for some of the readers and may be wanted by others. */
export class SharedTexts {
  readonly #texts = new Map<string, Text>();
  readonly #textsMax: number;
  #bytes = 0;
  #prefixes = 0;

  constructor(textsMax = TEXTS_MAX) {
    this.#textsMax = textsMax;
  }

  /** For keys that nobody else uses. What was stored under another prefix is dropped when there is no room. */
  newPrefix(): number {
    this.#prefixes += 1;
    return this.#prefixes;
  }

  get(key: string): Text | undefined {
    return this.#texts.get(key);
  }

  add(key: string, text: Text): void {
    if (this.#texts.size === this.#textsMax || this.#bytes + text.length > BYTES_MAX) this.clear();
    if (text.length > BYTES_MAX) return;
    this.#texts.set(key, text);
    this.#bytes += text.length;
  }

  clear(): void {
    this.#texts.clear();
    this.#bytes = 0;
  }
}
