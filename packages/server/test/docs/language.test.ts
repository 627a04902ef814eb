/** The words of the code are those of its field: a name, a test title or a log line is understood without our glossary. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSourceTexts, type SourceText } from './source-names.ts';

type Words = readonly (readonly [words: string, better: string])[];

/** Words with another name in the field, and that name. Words that also have a plain meaning are only for the reviewer. */
const WORDS: Words = [
  ['ask|asks|asked|asking', 'request, want, match, read'],
  ['carry|carries|carried|carrying', 'transfer'],
  ['gather|gathers|gathered', 'batch, batched'],
  ['hear|hears|heard', 'subscribe, receive'],
  ['misfit|misfits|findings', 'validation errors'],
  ['pulse|pulses', 'watchdog, liveness check'],
  ['refuse|refuses|refused|refusal|refusals', 'reject, error'],
  ['say|says|said|saying', 'report, have, require'],
  ['somebody|anybody|whoever|nobody', 'the caller, the user, the reader, the process'],
  ['stand|stands|stood|standing', 'eligibility, be, be adjacent'],
  ['tell|tells|told|telling', 'publish, notify'],
  ['enlist|enlists', 'what it does'],
  ['kept', 'retained, stored, cached'],
];

/** Other words that are unambiguous in names alone. */
const WORDS_OF_NAMES: Words = [
  ['place|places', 'location, JSON path, permit, position'],
  ['turn|turns|turned', 'tick, lock, permit, transition, chunk'],
  ['look|looks|looked', 'read, revalidate'],
];

/** Names of the public API and of stored data, which stay. */
const PUBLIC_NAMES = new Set(['NOBODY', 'refused', 'place_key']);

const FRAGMENT = /^(of|that|whose|is|and)\b/;
const WORDS_MIN = 4;

const { names, titles, logLines } = readSourceTexts();

test('every declared name has only words of the field', () => {
  const own = names.filter(({ text }) => !PUBLIC_NAMES.has(text));
  assert.deepEqual(wrongWords(own, [...WORDS, ...WORDS_OF_NAMES]), []);
});

test('every test title and every log line has only words of the field', () => {
  assert.deepEqual(wrongWords([...titles, ...logLines], WORDS), []);
});

test('every test title is a sentence that does not need the title around it', () => {
  const fragments = titles.filter(
    ({ text }) => FRAGMENT.test(text) || (!text.includes('…') && text.split(/\s+/).length < WORDS_MIN),
  );
  assert.deepEqual(fragments, []);
});

/** The texts with a word of the table, each with the words to use. */
function wrongWords(texts: readonly SourceText[], table: Words): string[] {
  const instead = new Map(
    table.flatMap(([words, better]) => words.split('|').map((word) => [word, better] as const)),
  );
  return texts.flatMap(({ at, text }) =>
    wordsOf(text).flatMap((word) => {
      const better = instead.get(word);
      return better === undefined ? [] : [`${at}: "${word}" in "${text}"; write: ${better}`];
    }),
  );
}

/** The words of a sentence or of a name in any case, in lower case. */
const wordsOf = (text: string): string[] =>
  (text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());
