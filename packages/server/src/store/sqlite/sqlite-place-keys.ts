import { hash } from 'node:crypto';
import { parseJson } from '@rollcall/protocol';
import type { Json } from '../store.ts';

/** Bytes of a hash that make a key: as many as SQLite keeps in a small integer and JavaScript in a number. */
const KEY_BYTES = 6;

function keyOf(text: string): number {
  return hash('sha256', text, 'buffer').readUIntBE(0, KEY_BYTES);
}

/** The key of a whole location. Different locations may, hardly ever, share one; nobody can choose that they do. */
export const placeKey = (location: Json): number => keyOf(location);

/** The keys of a location's pairs, each once: a location that matches it has every one of them. */
export function pairKeys(location: Json): number[] {
  const pairs = Object.entries(parseJson(location) as object);
  return [...new Set(pairs.map(([key, value]) => keyOf(`${JSON.stringify(key)}:${JSON.stringify(value)}`)))];
}

/** All keys under which a location is found, each once. */
export const placeKeys = (location: Json): Set<number> =>
  new Set([placeKey(location), ...pairKeys(location)]);
