import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { ApiDescription } from './api-description.ts';

const server = oneServer({ settings: { rateLimitPerSecond: 1_000 } });
let api: ApiDescription;
let project: Project;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
  project = await server.project();
  await project.seed({ groups: [{ id: 'analysts', name: 'Analysts' }] });
});

describe('headers are as described', () => {
  test('the described ETag of a reading answers the next one with 304', async () => {
    const described = api.operation('getGroup');
    const { value } = api.response(described, 200);
    assert.ok(Object.hasOwn(value.headers ?? {}, 'ETag'));
    const { etag } = (await project.get('/v1/groups/analysts')).headers;
    const answer = await project.get('/v1/groups/analysts', { 'if-none-match': String(etag) });
    assert.equal(answer.status, 304);
    api.expectDescribed(described, answer);
  });

  test('the described Link of a page of groups leads to the next page', async () => {
    await project.seed({ groups: [{ id: 'writers', name: 'Writers' }] });
    const answer = await project.get('/v1/groups?limit=1');
    assert.ok(Object.hasOwn(api.response(api.operation('listGroups'), 200).value.headers ?? {}, 'Link'));
    assert.match(String(answer.headers.link), /; rel="next"$/);
  });

  test('every described header of a success and of a 429 is one that a limited server sends', async () => {
    const limited = Object.keys(api.document.components.responses.TooManyRequests?.headers ?? {});
    const answer = await project.get('/v1/groups');
    const described = Object.keys(api.response(api.operation('listGroups'), 200).value.headers ?? {});
    for (const name of described.filter((each) => each !== 'Link')) {
      assert.ok(answer.headers[name.toLowerCase()] !== undefined, name);
    }
    for (const name of ['Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']) {
      assert.ok(limited.includes(name), name);
    }
    // The limit is per project, for all of its tokens.
    for (const { operation, path } of api.operations) {
      const [kind = 'none'] = Object.keys(operation.security?.[0] ?? {});
      const isLimited = kind === 'projectToken' || kind === 'clientToken';
      assert.equal(Object.hasOwn(operation.responses, 429), isLimited, path);
    }
  });
});
