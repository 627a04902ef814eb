import { hash } from 'node:crypto';
import type { Json } from '../../values/json.ts';
import { pairsOf } from '../../values/location-pairs.ts';

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');

/** The key of a whole location or region, whose text is longer than an index takes. */
export const locationKey = (text: Json): Buffer => sha256(text);

/** The keys of a location's pairs: a location that matches it has every one of them. */
export const pairKeys = (location: Json): Buffer[] => pairsOf(location).map(sha256);
