import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { Presence, type PresencePage } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();
let project: Project;
let presence: Presence;

beforeEach(async () => {
  project = await server.project();
  presence = new Presence(project);
  await project.seed({
    users: ['ada', 'bob', 'cleo'].map((id) => ({ id })),
    groups: [
      { id: 'g', name: 'G', members: ['ada', 'bob', 'cleo'] },
      { id: 'second', name: 'Second', members: ['ada'] },
      { id: 'foreign', name: 'Foreign', members: ['bob'] },
    ],
  });
});

const read = (browser: Browser, query: Record<string, string> = {}) =>
  browser.get(`/v1/client/presence?${new URLSearchParams(query)}`);

describe('PUT /v1/client/presence', () => {
  test('PUT /v1/client/presence sets the user of the token present in the group of the body', async () => {
    const browser = Browser.of(project, 'ada');
    expectDone(await browser.putPresence({ groupID: 'g' }), 'ada');
    expectDone(await browser.putPresence({ organizationID: 'second' }));
    assert.deepEqual(await presence.ephemeral('g'), { ada: [{ page: '1' }] });
    assert.deepEqual(await presence.ephemeral('second'), { ada: [{ page: '1' }] });
  });

  test('PUT /v1/client/presence uses the group of the token, which the body may repeat', async () => {
    const browser = Browser.of(project, 'ada', 'g');
    expectDone(await browser.putPresence({}));
    expectDone(await browser.putPresence({ groupID: 'g', location: { page: '2' } }));
    expectDone(await browser.putPresence({ organizationID: 'g', location: { page: '3' } }));
    assert.deepEqual(await presence.locationsOf('ada'), [{ page: '1' }, { page: '2' }, { page: '3' }]);
  });

  test('PUT /v1/client/presence moves the user within a region, sets durable presence, and sets the user absent', async () => {
    const browser = Browser.of(project, 'ada', 'g');
    const at = (n: string) => ({ location: { page: '1', line: n }, exclusiveWithin: { page: '1' } });
    expectDone(await browser.putPresence(at('1')));
    expectDone(await browser.putPresence(at('2')));
    assert.deepEqual(await presence.locationsOf('ada'), [{ page: '1', line: '2' }]);
    expectDone(await browser.putPresence({ ...at('9'), durable: true }));
    assert.deepEqual((await presence.entryOf('ada')).durable?.location, { page: '1', line: '9' });
    expectDone(await browser.putPresence({ location: { page: '1', line: '2' }, absent: true }));
    assert.deepEqual(await presence.locationsOf('ada'), []);
  });

  test('PUT /v1/client/presence accepts a body of 256 KiB, and a longer one is 413 invalid_request', async () => {
    const { token } = Browser.of(project, 'ada', 'g');
    const authorization = `Bearer ${token}`;
    const put = (text: string) => project.send('PUT', '/v1/client/presence', text, { authorization });
    const clef = (count: number) => '\\ud834\\udd1e'.repeat(count);
    // 4 bytes each, 8 KiB with the one character and what is around them.
    const pairs = `"a":"${clef(limits.LOCATION_TEXT_MAX_LENGTH)}","b":"${clef(1_020)}x"`;
    const longest = `{"location":{${pairs}},"exclusiveWithin":{${pairs}}}`;
    expectDone(await put(longest), 'ada');
    const tooLong = longest.padEnd(limits.SMALL_BODY_LIMIT_BYTES + 1);
    expectDone(await put(tooLong.slice(0, -1)), 'ada');
    expectError(await put(tooLong), 413, 'invalid_request');
  });

  test('PUT /v1/client/presence rejects what the update of a host rejects', async () => {
    const browser = Browser.of(project, 'ada');
    const one = Browser.of(project, 'ada', 'g');
    expectError(await browser.putPresence({}), 400, 'missing_field', 'groupID');
    expectError(await one.put('/v1/client/presence', {}), 400, 'missing_field', 'location');
    const both = { groupID: 'g', organizationID: 'g' };
    expectError(await browser.putPresence(both), 400, 'invalid_field', 'organizationID');
    expectError(await one.putPresence(both), 400, 'invalid_field', 'organizationID');
    expectError(await one.putPresence({ groupID: null }), 400, 'invalid_field', 'groupID');
    expectError(await one.putPresence({ absent: true, durable: true }), 400, 'invalid_field', 'absent');
    const outside = { exclusiveWithin: { page: '2' } };
    expectError(await one.putPresence(outside), 400, 'invalid_field', 'location');
    assert.deepEqual(await presence.everyone(), []);
  });
});

describe('GET /v1/client/presence', () => {
  beforeEach(async () => {
    await presence.set('bob', { page: '1', line: '1' });
    await presence.set('cleo', { page: '2' });
    await presence.set('cleo', { page: '1', line: '7' }, { durable: true });
  });

  test('GET /v1/client/presence answers as GET /v1/groups/<ID>/presence does to the host', async () => {
    const everyone = await presence.page();
    assert.equal(everyone.users.length, 2);
    assert.deepEqual(expectOk(await read(Browser.of(project, 'ada'), { groupID: 'g' })), everyone);
    assert.deepEqual(expectOk(await read(Browser.of(project, 'ada', 'g'))), everyone);
    assert.deepEqual(expectOk(await read(Browser.of(project, 'ada', 'g'), { groupID: 'g' })), everyone);
    assert.deepEqual(expectOk<PresencePage>(await read(Browser.of(project, 'ada', 'second'))).users, []);
  });

  test('GET /v1/client/presence accepts the filters of GET /v1/groups/<ID>/presence', async () => {
    const browser = Browser.of(project, 'ada', 'g');
    const filters: Record<string, string>[] = [
      { location: '{"page":"2"}' },
      { location: '{"page":"1"}' },
      { location: '{"page":"1"}', partial_match: 'true' },
      { location: '{"page":"1"}', partial_match: 'true', exclude_durable: 'true' },
    ];
    for (const filter of filters) {
      assert.deepEqual(expectOk(await read(browser, filter)), await presence.page(filter));
    }
  });

  test('GET /v1/client/presence comes in pages, whose tokens are valid for this group and filter only', async () => {
    const browser = Browser.of(project, 'ada');
    const first = expectOk<PresencePage>(await read(browser, { groupID: 'g', limit: '1' }));
    const token = String(first.pagination.token);
    const second = expectOk<PresencePage>(await read(browser, { groupID: 'g', limit: '1', token }));
    assert.deepEqual(
      [...first.users, ...second.users].map(({ id }) => id),
      ['bob', 'cleo'],
    );
    const elsewhere = await read(browser, { groupID: 'second', token });
    expectError(elsewhere, 400, 'invalid_field', 'token');
  });

  test('GET /v1/client/presence needs a groupID or a token that names one, and rejects what the reading of a host rejects', async () => {
    const browser = Browser.of(project, 'ada');
    expectError(await read(browser), 400, 'missing_field', 'groupID');
    for (const query of ['groupID=', 'groupID=g&groupID=g', 'groupID=%00', 'groupID=%ZZ']) {
      const answer = await browser.get(`/v1/client/presence?${query}`);
      expectError(answer, 400, 'invalid_field', 'groupID');
    }
    expectError(await read(browser, { groupID: 'g', user: 'bob' }), 400, 'unexpected_field', 'user');
    expectError(await read(browser, { groupID: 'g', location: '[]' }), 400, 'invalid_field', 'location');
  });

  test('GET /v1/client/presence is group_not_found for a group that is not the user’s or not the token’s', async () => {
    for (const groupID of ['foreign', 'nowhere']) {
      expectNotFound(await read(Browser.of(project, 'ada'), { groupID }), 'group_not_found', groupID);
    }
    const browser = Browser.of(project, 'ada', 'g');
    expectNotFound(await read(browser, { groupID: 'second' }), 'group_not_found', 'second');
    expectNotFound(await read(browser, { groupID: 'foreign' }), 'group_not_found', 'foreign');
  });

  test('GET /v1/client/presence is rejected from the next request on when the user leaves or the group is deleted', async () => {
    const browser = Browser.of(project, 'ada', 'g');
    expectOk(await read(browser));
    expectDone(await project.post('/v1/groups/g/members', { remove: ['ada'] }));
    expectNotFound(await read(browser), 'group_not_found', 'ada');
    const other = Browser.of(project, 'bob', 'g');
    expectOk(await read(other));
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    expectNotFound(await read(other), 'group_not_found', 'deleted');
    expectDone(await project.put('/v1/users/bob', { status: 'deleted' }));
    expectNotFound(await read(other), 'user_not_found', 'bob');
  });
});
