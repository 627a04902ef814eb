import { compareCodePoints } from '@rollcall/protocol';
import { CHUNK_MAX, countUpTo, SortedChunks } from './sorted-chunks.ts';

/**
 * User IDs in ascending order by code point; one may be there several times. Most bags have one ID or a few, so the
 * form follows the size: one ID is itself, up to a chunk of them an array of exactly their number, more are chunks.
 */
export type IdBag = string | readonly string[] | SortedChunks;

/** Below this many IDs chunks become an array again: well below CHUNK_MAX, so that one ID more or less never converts. */
const CHUNKED_MIN = CHUNK_MAX / 2;

/** The bag with the ID once more. The given bag must not be used again. */
export function withId(bag: IdBag | undefined, id: string): IdBag {
  if (bag === undefined) return id;
  if (bag instanceof SortedChunks) {
    bag.add(id);
    return bag;
  }
  const ids = typeof bag === 'string' ? [bag] : bag;
  const grown = ids.toSpliced(countUpTo(ids, id), 0, id);
  return grown.length > CHUNK_MAX ? new SortedChunks(grown) : grown;
}

/** The bag without one occurrence of an ID that is in it; undefined when empty. The given bag must not be used again. */
export function withoutId(bag: IdBag, id: string): IdBag | undefined {
  if (typeof bag === 'string') return undefined;
  if (bag instanceof SortedChunks) {
    bag.remove(id);
    return bag.size < CHUNKED_MIN ? [...bag.after(null)] : bag;
  }
  const left = bag.toSpliced(countUpTo(bag, id) - 1, 1);
  return left.length === 1 ? left[0] : left;
}

export function hasId(bag: IdBag, id: string): boolean {
  if (typeof bag === 'string') return bag === id;
  return bag instanceof SortedChunks ? bag.has(id) : bag[countUpTo(bag, id) - 1] === id;
}

/** The number of IDs, repeated ones included. */
export function idCount(bag: IdBag): number {
  if (typeof bag === 'string') return 1;
  return bag instanceof SortedChunks ? bag.size : bag.length;
}

/** The IDs after `after`, from the first one where that is null. Finding the start costs a search. */
export function idsAfter(bag: IdBag | undefined, after: string | null): Iterable<string> {
  if (bag === undefined) return [];
  if (bag instanceof SortedChunks) return bag.after(after);
  if (after === null) return typeof bag === 'string' ? [bag] : bag;
  if (typeof bag === 'string') return compareCodePoints(bag, after) > 0 ? [bag] : [];
  return bag.slice(countUpTo(bag, after));
}

/** The IDs of a few ascending sources as one. */
export function* mergeIds(sources: readonly Iterable<string>[]): Generator<string> {
  const heads = sources.map((source) => new Head(source)).filter((head) => !head.done);
  while (heads.length > 0) {
    const least = heads.reduce((a, b) => (compareCodePoints(b.id, a.id) < 0 ? b : a));
    yield least.id;
    least.advance();
    if (least.done) heads.splice(heads.indexOf(least), 1);
  }
}

/** The next ID of a source. */
class Head {
  id = '';
  done = false;
  readonly #rest: Iterator<string>;

  constructor(source: Iterable<string>) {
    this.#rest = source[Symbol.iterator]();
    this.advance();
  }

  advance(): void {
    const { done, value } = this.#rest.next();
    this.done = done === true;
    if (done !== true) this.id = value;
  }
}
