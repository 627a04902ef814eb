import type { Text } from './pieces.ts';

/** How many texts are kept, and how many bytes in all: those who come after one another have mostly missed the same. */
const TEXTS_MAX = 8;
const BYTES_MAX = 1_048_576;

/** What was written for some of the readers and may be wanted by others. */
export class SharedTexts {
  readonly #texts = new Map<string, Text>();
  #bytes = 0;

  get(key: string): Text | undefined {
    return this.#texts.get(key);
  }

  add(key: string, text: Text): void {
    if (this.#texts.size === TEXTS_MAX || this.#bytes + text.length > BYTES_MAX) this.clear();
    if (text.length > BYTES_MAX) return;
    this.#texts.set(key, text);
    this.#bytes += text.length;
  }

  clear(): void {
    this.#texts.clear();
    this.#bytes = 0;
  }
}
