/** The words of the project are those of its field: names, titles, log lines, comments and pages are understood without our glossary. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { proseOf, ROOT } from './markdown.ts';
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
  ['somebody|anybody|whoever', 'the caller, the user, the reader, the process'],
  ['standing', 'eligibility'],
  ['tell|tells|told|telling', 'publish, notify'],
  ['enlist|enlists', 'what it does'],
  ['kept', 'retained, stored, cached'],
];

/** Words that have a plain meaning in longer texts. */
const WORDS_OF_TITLES: Words = [
  ...WORDS,
  ['nobody', 'no caller, no user, no reader, no process'],
  ['say|says|said|saying', 'report, have, require'],
  ['stand|stands|stood', 'be, be adjacent'],
];

/** Other words that are unambiguous in names alone. */
const WORDS_OF_NAMES: Words = [
  ...WORDS_OF_TITLES,
  ['place|places', 'location, JSON path, permit, position'],
  ['turn|turns|turned', 'tick, lock, permit, transition, chunk'],
  ['look|looks|looked', 'read, revalidate'],
];

/** Names of the public API and of stored data, which stay. */
const PUBLIC_NAMES = new Set(['NOBODY', 'refused', 'place_key']);

const FRAGMENT = /^(of|that|whose|is|and)\b/;
const WORDS_MIN = 4;

/** Pages of the project. The CHANGELOG is a record of what was. */
const exclude = ['**/node_modules/**', '**/dist/**', 'data/**', 'CHANGELOG.md'];
const PAGES = globSync('**/*.md', { cwd: ROOT, exclude }).sort();

const { names, titles, logLines, comments } = readSourceTexts();

test('every declared name has only words of the field', () => {
  const own = names.filter(({ text }) => !PUBLIC_NAMES.has(text));
  assert.deepEqual(wrongWords(own, WORDS_OF_NAMES), []);
});

test('every test title and every log line has only words of the field', () => {
  assert.deepEqual(wrongWords([...titles, ...logLines], WORDS_OF_TITLES), []);
});

test('every comment has only words of the field', () => {
  assert.deepEqual(wrongWords(comments, WORDS), []);
});

test('every page of the documentation has only words of the field', () => {
  const lines = PAGES.flatMap((at) =>
    proseOf(at)
      .split('\n')
      .map((text) => ({ at, text })),
  );
  assert.deepEqual(wrongWords(lines, WORDS), []);
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
