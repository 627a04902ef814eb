/** The values that several resources share. Each schema's description completes the sentence "expected …". */

import * as limits from './limits.ts';
import {
  constant,
  dictionary,
  flag,
  integer,
  object,
  oneOf,
  type Static,
  text,
  textOrNull,
} from './schema.ts';

/** Partner-specific ID: code points outside Unicode category C (control, format, unassigned, private use, surrogates). */
export const Id = text({
  pattern: `^\\P{C}{1,${limits.ID_MAX_LENGTH}}$`,
  description: `a string of 1 to ${limits.ID_MAX_LENGTH} characters, none of them a control, format or unassigned character`,
});

export const Name = text({
  minLength: 1,
  maxLength: limits.NAME_MAX_LENGTH,
  'x-text': true,
  description: `a string of 1 to ${limits.NAME_MAX_LENGTH} characters`,
});

export const Status = oneOf(['active', 'deleted'], { description: '"active" or "deleted"' });
export type Status = Static<typeof Status>;

/** Arbitrary key-value pairs; a write replaces the whole object. */
export const Metadata = dictionary<unknown>({
  'x-maxBytes': limits.METADATA_MAX_BYTES,
  description: `a JSON object of at most ${limits.METADATA_MAX_BYTES} bytes whose numbers JSON readers can keep`,
});

/** Where somebody is: string keys to string values, chosen by the host. Key order never matters. */
export const Location = dictionary<string>({
  minProperties: 1,
  maxProperties: limits.LOCATION_MAX_PAIRS,
  propertyNames: { type: 'string', maxLength: limits.LOCATION_TEXT_MAX_LENGTH },
  additionalProperties: { type: 'string', maxLength: limits.LOCATION_TEXT_MAX_LENGTH },
  'x-maxBytes': limits.LOCATION_MAX_BYTES,
  description: `an object of 1 to ${limits.LOCATION_MAX_PAIRS} string keys with string values, each at most ${limits.LOCATION_TEXT_MAX_LENGTH} characters, of at most ${limits.LOCATION_MAX_BYTES} bytes of JSON in all`,
});
export type Location = Static<typeof Location>;

export const Flag = flag({ description: 'true or false' });

export const Timestamp = text({ format: 'date-time', description: 'ISO 8601, UTC' });

/** An optional text that `null` clears. */
export const clearableText = (keywords: Record<string, unknown>, description: string) =>
  textOrNull({ 'x-text': true, ...keywords, description });

/** The answer of every write. */
export const Done = object({
  success: constant(true),
  message: text({ description: 'what was done, and to which ID' }),
});

export const Pagination = object({
  token: textOrNull({
    description: 'opaque; pass it as `token` for the next page; null when nothing follows',
  }),
  total: integer({ description: 'how many entries the whole list has' }),
});
