import { compareCodePoints } from '@rollcall/protocol';

/** Longest chunk: large enough that there are few, small enough that inserting into one is cheap. */
export const CHUNK_MAX = 64;
/** Neighbours of at most this length together are merged. */
const CHUNK_MERGED_MAX = CHUNK_MAX / 2;

/** IDs in ascending order by code point, repeated ones next to each other, in chunks: a search in two steps, no rebalancing. */
export class SortedChunks {
  size: number;
  readonly #chunks: string[][];

  /** Takes over an ascending array that is not empty. */
  constructor(ids: string[]) {
    this.size = ids.length;
    this.#chunks = [ids];
  }

  add(id: string): void {
    const at = this.#find(id);
    const chunk = this.#chunks[at] as string[];
    const index = countUpTo(chunk, id);
    chunk.splice(index, 0, id);
    this.size += 1;
    if (chunk.length <= CHUNK_MAX) return;
    // IDs that are added in ascending order leave full chunks behind instead of half-empty ones.
    const filled = index === CHUNK_MAX ? CHUNK_MAX : CHUNK_MAX / 2;
    this.#chunks.splice(at + 1, 0, chunk.splice(filled));
  }

  /** Removes one occurrence of an ID that is there. */
  remove(id: string): void {
    const at = this.#find(id);
    const chunk = this.#chunks[at] as string[];
    chunk.splice(countUpTo(chunk, id) - 1, 1);
    this.size -= 1;
    this.#merge(at);
    if (at > 0) this.#merge(at - 1);
  }

  has(id: string): boolean {
    const chunk = this.#chunks[this.#find(id)] as string[];
    return chunk[countUpTo(chunk, id) - 1] === id;
  }

  /** The IDs after `after`, from the first one where that is null. */
  *after(after: string | null): Generator<string> {
    let at = after === null ? 0 : this.#find(after);
    let index = after === null ? 0 : countUpTo(this.#chunks[at] as string[], after);
    for (let chunk = this.#chunks[at]; chunk !== undefined; chunk = this.#chunks[at]) {
      for (; index < chunk.length; index += 1) yield chunk[index] as string;
      index = 0;
      at += 1;
    }
  }

  /** The chunk of the ID: the last one that starts with no greater ID. */
  #find(id: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareCodePoints(this.#chunks[middle]?.[0] as string, id) <= 0) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** Merges the chunk with the next one where both are small or one is empty: only a single chunk may be empty. */
  #merge(at: number): void {
    const chunk = this.#chunks[at];
    const next = this.#chunks[at + 1];
    if (chunk === undefined || next === undefined) return;
    const isSmall = chunk.length + next.length <= CHUNK_MERGED_MAX;
    if (isSmall || chunk.length === 0 || next.length === 0) this.#chunks.splice(at, 2, chunk.concat(next));
  }
}

/** How many of the ascending IDs are not greater than `id`: the index at which to insert it. */
export function countUpTo(ids: readonly string[], id: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareCodePoints(ids[middle] as string, id) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
