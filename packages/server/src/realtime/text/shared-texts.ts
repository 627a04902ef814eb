import type { Text } from './pieces.ts';

/**
 * How many texts are stored, and how many bytes in all: enough for several crowds that reconnect at once, each with a filter
 * of its own. Readers of one crowd have mostly missed the same.
 */
const TEXTS_MAX = 64;
const BYTES_MAX = 1_048_576;

/** Texts that were written for one reader and may be sent to others. */
export class SharedTexts {
  readonly #texts = new Map<string, Text>();
  #bytes = 0;
  #prefixes = 0;

  /** For keys of the caller's own. Texts under earlier prefixes are dropped when there is no room. */
  newPrefix(): number {
    this.#prefixes += 1;
    return this.#prefixes;
  }

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
