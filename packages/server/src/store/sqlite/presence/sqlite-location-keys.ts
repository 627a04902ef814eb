import { hash } from 'node:crypto';
import { parseJson } from '@rollcall/protocol';
import type { Json } from '../../../values/json.ts';

/** Bytes of a hash that make a key: as many as fit into a small integer of SQLite and a number of JavaScript. */
const KEY_BYTES = 6;

function keyOf(text: string): number {
  return hash('sha256', text, 'buffer').readUIntBE(0, KEY_BYTES);
}

/** The key of a whole location. Two locations may share one, hardly ever and not by choice, so the texts are compared too. */
export const locationKey = (location: Json): number => keyOf(location);

/** The keys of a location's pairs, each once: a location that matches it has every one of them. */
export function pairKeys(location: Json): number[] {
  const pairs = Object.entries(parseJson(location) as object);
  return [...new Set(pairs.map(([key, value]) => keyOf(`${JSON.stringify(key)}:${JSON.stringify(value)}`)))];
}

/** All keys under which a location is found, each once. */
export const locationKeys = (location: Json): Set<number> =>
  new Set([locationKey(location), ...pairKeys(location)]);
