import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();

const GROUP = '/v1/groups/g';
const USER = '/v1/users/u';

/** A project with the users u and v, and the group g of u. */
async function projectWithBoth(): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: [{ id: 'u', name: 'Ann' }, { id: 'v' }],
    groups: [{ id: 'g', name: 'G', members: ['u'] }],
  });
  return project;
}

async function etagOf(project: Project, path: string): Promise<string> {
  const answer = await project.get(path);
  expectOk(answer);
  const { etag } = answer.headers;
  assert.ok(etag !== undefined, `GET ${path} has no ETag`);
  return etag;
}

/** The writes that take `If-Match`, each of which would change what GET answers. */
const WRITES: [
  name: string,
  path: string,
  write: (project: Project, headers: Record<string, string>) => Promise<Answer>,
][] = [
  ['PUT of a group', GROUP, (project, headers) => project.put(GROUP, { name: 'H' }, headers)],
  [
    'POST of its members',
    GROUP,
    (project, headers) => project.post(`${GROUP}/members`, { add: ['v'] }, headers),
  ],
  ['DELETE of a group', GROUP, (project, headers) => project.delete(GROUP, headers)],
  ['PUT of a user', USER, (project, headers) => project.put(USER, { name: 'Bea' }, headers)],
  ['DELETE of a user', USER, (project, headers) => project.delete(USER, headers)],
];

describe('ETag', () => {
  for (const path of [GROUP, USER]) {
    test(`GET ${path} has a strong ETag, which stays the same while nothing changes`, async () => {
      const project = await projectWithBoth();
      const etag = await etagOf(project, path);
      assert.match(etag, /^"[\x21\x23-\x7e]+"$/);
      assert.equal(await etagOf(project, path), etag);
      await project.put('/v1/groups/other', { name: 'Other' });
      assert.equal(await etagOf(project, path), etag);
    });
  }

  const changes: [what: string, path: string, change: (project: Project) => Promise<Answer>][] = [
    ['the name of a group', GROUP, (project) => project.put(GROUP, { name: 'H' })],
    ['the status of a group', GROUP, (project) => project.put(GROUP, { status: 'deleted' })],
    ['the metadata of a group', GROUP, (project) => project.put(GROUP, { metadata: { a: 1 } })],
    ['the members of a group', GROUP, (project) => project.put(GROUP, { members: ['v'] })],
    ['an added member', GROUP, (project) => project.post(`${GROUP}/members`, { add: ['v'] })],
    ['a removed member', GROUP, (project) => project.post(`${GROUP}/members`, { remove: ['u'] })],
    ['a member who is deleted for good', GROUP, (project) => project.delete(USER)],
    [
      'a batch that names the group',
      GROUP,
      (project) => project.post('/v1/batch', { groups: [{ id: 'g', name: 'H' }] }),
    ],
    [
      'a group that was removed and made again',
      GROUP,
      async (project) => {
        await project.delete(GROUP);
        return project.put(GROUP, { name: 'G', members: ['u'] });
      },
    ],
    ['the name of a user', USER, (project) => project.put(USER, { name: 'Bea' })],
    ['the status of a user', USER, (project) => project.put(USER, { status: 'deleted' })],
    [
      'a batch that names the user',
      USER,
      (project) => project.post('/v1/batch', { users: [{ id: 'u', name: 'Bea' }] }),
    ],
  ];
  for (const [what, path, change] of changes) {
    test(`an ETag changes with a change of ${what}`, async () => {
      const project = await projectWithBoth();
      const etag = await etagOf(project, path);
      expectOk(await change(project));
      assert.notEqual(await etagOf(project, path), etag);
    });
  }
});

describe('If-None-Match on GET', () => {
  for (const path of [GROUP, USER]) {
    test(`GET ${path} answers 304 without a body where nothing changed`, async () => {
      const project = await projectWithBoth();
      const etag = await etagOf(project, path);
      for (const value of [etag, `W/${etag}`, `"other", ${etag}`, `${etag},"other"`, '*']) {
        const answer = await project.get(path, { 'if-none-match': value });
        assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, '', etag], value);
      }
    });

    test(`GET ${path} answers 200 where it changed`, async () => {
      const project = await projectWithBoth();
      const stale = await etagOf(project, path);
      expectDone(await project.put(path, { name: 'Other' }));
      for (const value of [stale, '"other"', `"other", ${stale}`]) {
        const answer = await project.get(path, { 'if-none-match': value });
        assert.equal(expectOk<{ name: string }>(answer).name, 'Other');
      }
    });

    test(`GET ${path} of an unknown ID is the not-found code, whatever If-None-Match has`, async () => {
      const project = await server.project();
      assert.equal((await project.get(path, { 'if-none-match': '*' })).status, 401);
    });
  }
});

describe('If-Match', () => {
  for (const [name, path, write] of WRITES) {
    test(`${name} is applied where If-Match has the current ETag, alone, in a list, or *`, async () => {
      const spellings = [(etag: string) => etag, (etag: string) => `"other", ${etag}`, () => '*'];
      for (const spell of spellings) {
        const project = await projectWithBoth();
        expectDone(await write(project, { 'if-match': spell(await etagOf(project, path)) }));
      }
    });

    test(`${name} with a stale ETag in If-Match is 412, and changes nothing`, async () => {
      const project = await projectWithBoth();
      const stale = await etagOf(project, path);
      expectDone(await project.put(path, { name: 'Newer' }));
      await project.unchanged(async () => {
        for (const value of [stale, '"other"', `${stale}, "other"`]) {
          expectError(await write(project, { 'if-match': value }), 412, 'invalid_request');
        }
      });
    });

    test(`${name} of a resource that does not exist is 412, also for *, and creates nothing`, async () => {
      const project = await projectWithBoth();
      const old = await etagOf(project, path);
      expectDone(await project.delete(path));
      await project.unchanged(async () => {
        for (const value of [old, '*']) {
          expectError(await write(project, { 'if-match': value }), 412, 'invalid_request');
        }
      });
    });

    test(`${name} with a weak ETag in If-Match is always 412`, async () => {
      const project = await projectWithBoth();
      const etag = await etagOf(project, path);
      const answer = await project.unchanged(() => write(project, { 'if-match': `W/${etag}` }));
      expectError(answer, 412, 'invalid_request');
    });

    test(`${name}: the ETag of a removed resource does not match a new one of the same ID`, async () => {
      const project = await projectWithBoth();
      const old = await etagOf(project, path);
      expectDone(await project.delete(path));
      expectDone(await project.put(path, { name: 'Again' }));
      expectError(await write(project, { 'if-match': old }), 412, 'invalid_request');
    });
  }

  test('one of twenty writes with the same ETag is applied, and the others are answered 412', async () => {
    const project = await projectWithBoth();
    const etag = await etagOf(project, GROUP);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, racer) =>
        project.put(GROUP, { name: `racer ${racer}` }, { 'if-match': etag }),
      ),
    );
    const winners = answers.flatMap(({ status }, racer) => (status === 200 ? [racer] : []));
    assert.equal(winners.length, 1);
    for (const [racer, answer] of answers.entries()) {
      if (racer !== winners[0]) expectError(answer, 412, 'invalid_request');
    }
    assert.equal((await project.group('g')).name, `racer ${winners[0]}`);
  });

  test('an invalid body is rejected before If-Match is compared', async () => {
    const project = await projectWithBoth();
    const answer = await project.put(GROUP, { nick: 1 }, { 'if-match': '"stale"' });
    expectError(answer, 400, 'unexpected_field', 'nick');
    // A write that must find the group creates none, so its name is not missing.
    const required = await project.put('/v1/groups/new', { status: 'gone' }, { 'if-match': '*' });
    expectError(required, 400, 'invalid_field', 'status');
  });

  test('unknown users are user_not_found before If-Match is compared', async () => {
    const project = await projectWithBoth();
    const stale = { 'if-match': '"stale"' };
    await project.unchanged(async () => {
      expectNotFound(await project.put(GROUP, { members: ['nobody'] }, stale), 'user_not_found', 'nobody');
      const added = await project.post(`${GROUP}/members`, { add: ['nobody'] }, stale);
      expectNotFound(added, 'user_not_found', 'nobody');
    });
  });

  test('unknown users are user_not_found before If-Match finds no group', async () => {
    const project = await projectWithBoth();
    const required = { 'if-match': '*' };
    await project.unchanged(async () => {
      for (const fields of [{}, { name: 'New' }]) {
        const put = await project.put('/v1/groups/new', { ...fields, members: ['nobody'] }, required);
        expectNotFound(put, 'user_not_found', 'nobody');
      }
      const added = await project.post('/v1/groups/new/members', { add: ['nobody'] }, required);
      expectNotFound(added, 'user_not_found', 'nobody');
    });
  });
});
