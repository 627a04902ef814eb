import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Location } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import { ClientStream } from '../support/client-stream.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();

const LOCATIONS: readonly Location[] = [
  { page: 'intro' },
  { page: 'intro', paragraph: '1 & 2 = ü' },
  { 'a b&c': '[x]=%' },
  { page: '' },
  JSON.parse('{"__proto__":"own"}'),
  { constructor: 'a', 7: 'b' },
];

let project: Project;
let browser: Browser;

/** At each of the locations there is one user and one thread, of the same ID. */
beforeEach(async () => {
  project = await server.project();
  const ids = LOCATIONS.map((_location, index) => `at${index}`);
  await project.seedGroup('g', ...ids);
  for (const [index, location] of LOCATIONS.entries()) {
    expectDone(
      await project.put(`/v1/users/${ids[index]}/presence`, { groupID: 'g', location, durable: true }),
    );
    expectDone(await project.put(`/v1/threads/${ids[index]}`, { groupID: 'g', name: 'T', location }));
  }
  browser = Browser.of(project, 'at0', 'g');
});

interface Listed {
  readonly users?: readonly { readonly id: string }[];
  readonly threads?: readonly { readonly id: string }[];
}

const idsOf = ({ users, threads }: Listed) => (users ?? threads ?? []).map(({ id }) => id).sort();

/** Every operation that takes a location in its query. */
const READINGS: Readonly<Record<string, (query: string) => ReturnType<Project['get']>>> = {
  '/v1/groups/<ID>/presence': (query) => project.get(`/v1/groups/g/presence?${query}`),
  '/v1/organizations/<ID>/presence': (query) => project.get(`/v1/organizations/g/presence?${query}`),
  '/v1/client/presence': (query) => browser.get(`/v1/client/presence?${query}`),
  '/v1/threads': (query) => project.get(`/v1/threads?${query}`),
  '/v1/client/threads': (query) => browser.get(`/v1/client/threads?${query}`),
};

const pairsOf = (location: Location): [string, string][] =>
  Object.entries(location).map(([key, value]) => [`location[${key}]`, value]);
const asPairs = (location: Location) => String(new URLSearchParams(pairsOf(location)));
const asJson = (location: Location) => String(new URLSearchParams({ location: JSON.stringify(location) }));

const pair = (number: number) => `location%5Bk${number}%5D=v`;

/** What is no location, in pairs. */
const INVALID: Readonly<Record<string, string>> = {
  'both forms': `${asJson({ page: 'intro' })}&location[page]=intro`,
  'both forms, the pairs first': `location[page]=intro&${asJson({ page: 'intro' })}`,
  'an empty text and a pair': 'location=&location[page]=intro',
  'a repeated pair': 'location[page]=intro&location[page]=intro',
  'a repeated pair after another one': 'location[a]=1&location[page]=x&location[page]=y',
  'a nested pair': 'location[page][of]=intro',
  'a nested pair beside another one': 'location[page]=intro&location[page][of]=intro',
  'a nested pair of __proto__': 'location[__proto__][page]=intro',
  'an array': 'location[]=intro',
  'an array beside a pair': 'location[page]=intro&location[]=intro',
  'an open bracket': 'location[page=intro',
  'a closed bracket too many': 'location[page]]=intro',
  'a text after the bracket': 'location[page]x=intro',
  'seventeen pairs': Array.from({ length: 17 }, (_pair, index) => pair(index)).join('&'),
  'a key that is too long': `location[${'k'.repeat(1_025)}]=v`,
  'a value that is too long': `location[k]=${'v'.repeat(1_025)}`,
};

describe('a location in a query', () => {
  for (const [path, read] of Object.entries(READINGS)) {
    test(`${path} takes the pairs of a location as parameters, and answers as to its JSON`, async () => {
      for (const [index, location] of LOCATIONS.entries()) {
        const inPairs = idsOf(expectOk<Listed>(await read(asPairs(location))));
        assert.deepEqual(inPairs, [`at${index}`], asPairs(location));
        assert.deepEqual(idsOf(expectOk<Listed>(await read(asJson(location)))), inPairs);
      }
      const unescaped = expectOk<Listed>(await read('partial_match=true&location[page]=intro'));
      assert.deepEqual(idsOf(unescaped), ['at0', 'at1']);
    });

    test(`${path} answers invalid_field to pairs that are no location`, async () => {
      for (const [what, query] of Object.entries(INVALID)) {
        const answer = await read(query);
        expectError(answer, 400, 'invalid_field', 'query parameter location', 'location[key]=value');
        assert.ok(answer.text.length < 500, what);
      }
    });

    test(`${path} answers invalid_field to an array of texts, and names no page token beside it`, async () => {
      const answer = await read('location=["intro"]&token=of-another-list');
      assert.doesNotMatch(expectError(answer, 400, 'invalid_field', 'query parameter location'), /token/);
    });

    test(`${path} answers invalid_field to a wrong limit, and names no pairs`, async () => {
      const answer = await read('limit=0');
      assert.doesNotMatch(expectError(answer, 400, 'invalid_field', 'query parameter limit'), /pairs/);
    });

    test(`${path} answers unexpected_field to pairs of another parameter`, async () => {
      for (const name of ['limit[page]', 'place[page]', '__proto__[page]', 'Location[page]', '[page]']) {
        expectError(await read(`${name}=1`), 400, 'unexpected_field', name);
      }
    });
  }

  test('sixteen pairs in a query are a location', async () => {
    const query = Array.from({ length: 16 }, (_pair, index) => pair(index)).join('&');
    for (const read of Object.values(READINGS))
      assert.deepEqual(idsOf(expectOk<Listed>(await read(query))), []);
  });

  test('pairs and JSON of a location name the same list, so a page token of one is valid with the other', async () => {
    const partial = 'partial_match=true&limit=1';
    for (const read of Object.values(READINGS)) {
      const page = expectOk<{ pagination: { token: string } }>(await read(`${partial}&location[page]=intro`));
      const { token } = page.pagination;
      const next = await read(`${partial}&${asJson({ page: 'intro' })}&token=${encodeURIComponent(token)}`);
      assert.equal(idsOf(expectOk<Listed>(next)).length, 1);
    }
  });

  test('a stream takes the pairs of a location as parameters', async () => {
    using stream = await ClientStream.open(browser, { 'location[page]': 'intro' });
    const { users } = (await stream.expect('snapshot')) as Required<Listed>;
    assert.deepEqual(idsOf({ users }), ['at0']);
  });

  test('an operation without a location takes no pairs', async () => {
    const answer = await project.get('/v1/users?location[page]=intro');
    expectError(answer, 400, 'unexpected_field', 'location[page]');
  });
});
