/** The schemas of values that several resources share. Each description completes the sentence "expected …". */

import * as limits from './limits.ts';
import {
  constant,
  dictionary,
  flag,
  integer,
  meaning,
  object,
  oneOf,
  type Static,
  text,
  textOrNull,
} from './schema.ts';
import { valueCheck } from './value-check.ts';

/** Partner-specific ID: code points outside Unicode category C (control, format, unassigned, private use, surrogates). */
export const Id = text({
  'x-meaning': 'A partner-specific ID, chosen by the host. Compared by exact code points, case-sensitive.',
  minLength: 1,
  maxLength: limits.ID_MAX_LENGTH,
  pattern: '^\\P{C}+$',
  'x-portable-pattern': '^[^\\x00-\\x1f\\x7f-\\x9f]+$',
  description: `a string of 1 to ${limits.ID_MAX_LENGTH} characters, none of them a control, format or unassigned character`,
});

/** Whether a value of any type is an ID. */
export const isId = valueCheck(Id) as (value: unknown) => value is string;

export const Name = text({
  'x-meaning': 'A name.',
  minLength: 1,
  maxLength: limits.NAME_MAX_LENGTH,
  'x-text': true,
  description: `a string of 1 to ${limits.NAME_MAX_LENGTH} characters`,
});

export const Status = oneOf(['active', 'deleted'], {
  'x-meaning':
    'Whether a user or group is in use (`active`), or locked out with its data retained (`deleted`).',
  description: '"active" or "deleted"',
});
export type Status = Static<typeof Status>;

/** Any JSON object; a write replaces it as a whole. */
export const Metadata = dictionary<unknown>({
  'x-meaning': 'Any JSON object, returned as it was written.',
  additionalProperties: true,
  'x-maxBytes': limits.METADATA_MAX_BYTES,
  description: `a JSON object of at most ${limits.METADATA_MAX_BYTES} bytes whose numbers JSON readers can keep`,
});

/** A location of a user: string keys and values that the host chooses. The order of keys does not matter. */
export const Location = dictionary<string>({
  'x-meaning':
    'The location of a user: keys and values that the host chooses, such as a page and a paragraph. The order of keys never matters. A location *matches* another when it has every pair of it.',
  minProperties: 1,
  maxProperties: limits.LOCATION_MAX_PAIRS,
  propertyNames: { type: 'string', maxLength: limits.LOCATION_TEXT_MAX_LENGTH },
  additionalProperties: { type: 'string', maxLength: limits.LOCATION_TEXT_MAX_LENGTH },
  'x-maxBytes': limits.LOCATION_MAX_BYTES,
  description: `an object of 1 to ${limits.LOCATION_MAX_PAIRS} string keys with string values, each at most ${limits.LOCATION_TEXT_MAX_LENGTH} characters, of at most ${limits.LOCATION_MAX_BYTES} bytes of JSON in all`,
});
export type Location = Static<typeof Location>;

export const Flag = flag({ description: 'true or false' });

export const Timestamp = text({
  'x-meaning': 'A time in ISO 8601, UTC.',
  format: 'date-time',
  description: 'ISO 8601, UTC',
});

/** A time that is written: of an import. */
export const PastTimestamp = text({
  'x-meaning': 'A time in ISO 8601 with its offset, not in the future.',
  format: 'date-time',
  description: 'a time in ISO 8601 with its offset, such as 2026-03-01T09:30:00Z, not in the future',
});

/** An optional string that `null` clears. */
export const clearableText = (keywords: Record<string, unknown>, description: string) =>
  textOrNull({ 'x-text': true, ...keywords, description });

/** The response of every write. */
export const Done = object(
  {
    success: meaning(constant(true), 'Always true: an error has another body.'),
    message: meaning(text(), 'What was done, and to which ID. For people: the text may change.'),
  },
  { 'x-meaning': 'The answer to a write.' },
);

const token = meaning(
  textOrNull(),
  'Opaque. Pass it as `token` for the next page; null when nothing follows. Valid for this list only.',
);
const OF_PAGE = { 'x-meaning': 'The position of a page in its list.' };

export const Pagination = object(
  { token, total: meaning(integer(), 'How many entries the whole list has.') },
  OF_PAGE,
);

/** The same of a list whose entries are not counted. */
export const TokenPagination = object({ token }, OF_PAGE);
