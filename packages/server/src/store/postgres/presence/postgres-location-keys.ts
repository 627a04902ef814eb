import { createHash } from 'node:crypto';
import { parseJson } from '@rollcall/protocol';
import type { Json } from '../../../values/json.ts';

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The key of a whole location or region, whose text is longer than an index takes. */
export const locationKey = (text: Json): Buffer => sha256(text);

/** The keys of a location's pairs: a location that matches it has every one of them. */
export const pairKeys = (location: Json): Buffer[] =>
  Object.entries(parseJson(location) as object).map(([key, value]) =>
    sha256(`${JSON.stringify(key)}:${JSON.stringify(value)}`),
  );
