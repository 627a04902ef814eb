import { hash } from 'node:crypto';
import type { Json } from '../../values/json.ts';
import { pairsOf } from '../../values/location-pairs.ts';

/** Bytes of a hash that make a key: as many as fit into a small integer of SQLite and a number of JavaScript. */
const KEY_BYTES = 6;

function keyOf(text: string): number {
  return hash('sha256', text, 'buffer').readUIntBE(0, KEY_BYTES);
}

/** The key of a whole location. Two locations may share one, hardly ever and not by choice, so the texts are compared too. */
export const locationKey = (location: Json): number => keyOf(location);

/** The keys of a location's pairs, each once: a location that matches it has every one of them. */
export const pairKeys = (location: Json): number[] => [...new Set(pairsOf(location).map(keyOf))];

/** All keys under which a location is found, each once. */
export const locationKeys = (location: Json): Set<number> =>
  new Set([locationKey(location), ...pairKeys(location)]);
