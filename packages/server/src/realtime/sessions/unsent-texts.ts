import type { Text } from '../text/pieces.ts';

/** How many bytes of outdated texts the streams of a process may be in the middle of. */
const OUTDATED_MAX_BYTES = 67_108_864;

/** A reader in the middle of a text. */
interface TextReader {
  /** Releases the text. The stream ends, unless nothing of it was sent: then the reader begins with a later one. */
  giveUpText(): void;
}

/**
 * The long texts that streams are in the middle of. While a group changes, each reader who stalls may be in the middle of a
 * snapshot that no other reader gets any more. Above a limit for the whole process, the readers of the oldest give them up.
 */
export class UnsentTexts {
  /** The oldest first. */
  readonly #readers = new Map<Text, Set<TextReader>>();

  /** A reader is in the middle of a text. Readers of older texts give them up where there is no room for it. */
  retain(text: Text, reader: TextReader): void {
    const readers = this.#readers.get(text);
    if (readers !== undefined) {
      readers.add(reader);
      return;
    }
    this.#readers.set(text, new Set([reader]));
    this.#makeRoom(text);
  }

  /** The reader has the text, or has disconnected. Idempotent. */
  release(text: Text, reader: TextReader): void {
    const readers = this.#readers.get(text);
    readers?.delete(reader);
    if (readers?.size === 0) this.#readers.delete(text);
  }

  #makeRoom(newest: Text): void {
    const outdated = [...this.#readers.keys()].filter((text) => !text.isCurrent);
    let bytes = outdated.reduce((sum, { length }) => sum + length, 0);
    for (const text of outdated) {
      if (bytes <= OUTDATED_MAX_BYTES || text === newest) return;
      bytes -= text.length;
      for (const reader of [...(this.#readers.get(text) ?? [])]) reader.giveUpText();
    }
  }
}
