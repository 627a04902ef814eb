import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entriesOf } from './entries.ts';
import type { StoreLab } from './store-lab.ts';

/** Texts that drivers could easily store wrongly. */
const TEXTS: Readonly<Record<string, string>> = {
  emoji: '\u{1f469}\u200d\u{1f469}\u200d\u{1f466} \u{1f1e9}\u{1f1ea} \u{2764}\u{fe0f}',
  quotes: `'single' "double" \`back\` ''''`,
  backslashes: '\\ \\\\ \\n \\u0000 \\"',
  newlines: 'a\nb\r\nc\rd\te',
  separators: 'a\u2028b\u2029c\u0085d\u00a0e\ufefff',
  controls: Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).join(''),
  'the last controls': '\u007f\u0080\u009f',
  combining: 'e\u0301 \u0065\u0301\u0301 \u1100\u1161\u11a8 \ufb01',
  'both forms of one letter': '\u00e9 is not e\u0301',
  'right to left': '\u05e9\u05dc\u05d5\u05dd \u202e\u0645\u0631\u062d\u0628\u0627\u202c',
  'noncharacters and private use': '\ufffe\uffff\ue000\u{10ffff}\ufdd0',
  '256 astral characters': '\u{1f9d1}'.repeat(256),
  'spaces only': '   ',
  SQL: `'; DROP TABLE users; -- %_?$1:name@x`,
  JSON: '{"a":[null,"\\u0000"]}',
  'the text of null': 'null',
  digits: '0012.50e3',
};

/** Metadata that drivers could easily alter. */
const METADATA: Readonly<Record<string, Record<string, unknown>>> = {
  'every kind of value': { s: '', n: 0, t: true, f: false, z: null, a: [], o: {} },
  'numbers at their edges': { a: 0.1, b: 1e300, c: -1e-7, d: 9007199254740991, e: 5e-324, f: 1.5, g: 1e21 },
  'a NUL in key and value': { 'a\0b': '\0', nested: [{ '\0': ['\0\0'] }] },
  'lone surrogates': { '\ud800': '\udc00', nested: ['\udbff', 'a\udfff'] },
  'keys in the order written': { b: 1, a: 2, '\u{1f600}': 3, '': 4, A: 5 },
  'keys that are numbers': { 2: 'b', 1: 'a', '01': 'c', x: 'd' },
  'a __proto__ key': JSON.parse(
    '{"__proto__":{"admin":true},"constructor":1,"hasOwnProperty":"x","toString":null}',
  ),
  'every odd text': TEXTS,
  'odd texts as keys': Object.fromEntries(Object.values(TEXTS).map((text) => [text, text])),
  'deep nesting up to the limit': JSON.parse(`{"d":${'['.repeat(8_000)}${']'.repeat(8_000)}}`),
  'the largest text': { t: 'x'.repeat(16_384 - '{"t":""}'.length) },
  'the most keys': Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, index])),
};

export function textContract(lab: StoreLab): void {
  for (const [what, text] of Object.entries(TEXTS)) {
    test(`texts are read back as written: ${what}`, async () => {
      const roster = await lab.projectWithGroup('g', 'ann');
      await roster.putGroup('g', { name: text });
      await roster.putUser('ann', { name: text, short_name: text });
      assert.equal((await roster.group('g')).name, text);
      assert.equal((await roster.user('ann')).name, text);
      assert.equal((await roster.user('ann')).shortName, text);
      const field = async (list: Parameters<typeof entriesOf>[0], name: string) =>
        (await entriesOf(list))[0]?.[name];
      assert.equal(await field(roster.listGroups, 'name'), text);
      assert.equal(await field(roster.listUsers, 'name'), text);
      assert.equal(await field(roster.listUsers, 'short_name'), text);
      assert.equal(await field(roster.membersOf('g'), 'name'), text);
      assert.equal(await field(roster.groupsOf('ann'), 'name'), text);
      assert.equal((await roster.putUser('ann', { name: text })).kind, 'unchanged');
    });

    test(`texts are read back as written from a batch: ${what}`, async () => {
      const roster = await lab.project();
      const users = [{ id: 'ann', name: text, short_name: text }];
      await roster.applied({ users, groups: [{ id: 'g', name: text, members: ['ann'] }] });
      assert.equal((await roster.group('g')).name, text);
      assert.equal((await roster.user('ann')).shortName, text);
    });
  }

  for (const [what, metadata] of Object.entries(METADATA)) {
    const expected = JSON.stringify(metadata);

    test(`metadata is read back byte for byte: ${what}`, async () => {
      const roster = await lab.project();
      await roster.putGroup('g', { name: 'G', metadata });
      await roster.putUser('ann', { metadata });
      assert.equal((await roster.group('g')).metadata, expected);
      assert.equal((await roster.user('ann')).metadata, expected);
      for (const list of [roster.listGroups, roster.listUsers]) {
        const { items } = await list({ after: null, limit: 1 });
        assert.ok(items.includes(expected), 'the entry holds it');
        assert.equal(JSON.stringify(JSON.parse(items).metadata), expected);
      }
      assert.equal((await roster.putGroup('g', { metadata })).kind, 'unchanged');
    });

    test(`metadata is read back byte for byte from a batch: ${what}`, async () => {
      const roster = await lab.project();
      const body = `{"users":[{"id":"ann","metadata":${expected}}],"groups":[{"id":"g","name":"G","metadata":${expected}}]}`;
      assert.equal((await roster.batch(Buffer.from(body))).kind, 'applied');
      assert.equal((await roster.group('g')).metadata, expected);
      assert.equal((await roster.user('ann')).metadata, expected);
    });
  }

  const ids = [
    `it's`,
    '"',
    '\\',
    'a/b',
    '..',
    '%2E',
    '\u{1f600}'.repeat(320),
    'e\u0301',
    '\u00e9',
    ' ',
    'null',
    '\u{2028}',
  ];
  const nameOf = (id: string) => [...`user ${id}`].slice(0, 256).join('');
  test('an ID of any characters finds its own resource and no other', async () => {
    const roster = await lab.project();
    // U+2028 is of category Z, not C, and so a legal ID.
    await roster.applied({ users: ids.map((id) => ({ id, name: nameOf(id) })) });
    await roster.applied({ groups: ids.map((id) => ({ id, name: 'G', members: [id] })) });
    for (const id of ids) {
      assert.equal((await roster.user(id)).id, id);
      assert.equal((await roster.user(id)).name, nameOf(id));
      assert.deepEqual(await roster.members(id), [id]);
      assert.deepEqual(
        (await entriesOf(roster.groupsOf(id))).map((group) => group.id),
        [id],
      );
      assert.deepEqual([...(await lab.store.eligibility.filter(roster.key, id, ids)).keys()], [id]);
    }
    assert.equal((await entriesOf(roster.listUsers)).length, ids.length);
  });

  test('IDs compare by exact code points: case and normal form make another ID', async () => {
    const roster = await lab.projectWithUsers('Ann', 'ann', 'ANN', '\u00e9', 'e\u0301', 'ann ');
    assert.equal((await roster.listUsers({ after: null, limit: 1 })).total, 6);
    assert.equal(await lab.store.users.find(roster.key, 'aNN'), null);
  });
}
