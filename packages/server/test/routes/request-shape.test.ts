import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ErrorCode } from '@rollcall/protocol';
import { clockedServer } from '../support/clocked-server.ts';
import { DATA_ENDPOINTS, type Endpoint } from '../support/endpoints.ts';
import { expectDone, expectError } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import type { Project } from '../support/project-client.ts';

const server = clockedServer();
let project: Project;

before(async () => {
  project = await server.projectWithGroup('g', 'u');
  await project.put('/v1/webhooks/w', { url: 'https://receiver.invalid/', status: 'paused' });
});

/** Every endpoint that reads a body. */
const WRITES = DATA_ENDPOINTS.filter(({ body }) => body !== undefined);
/** The writes in which no field is required, so that `{}` fits. */
const ALL_OPTIONAL = [
  ...['PUT /v1/groups/g', 'POST /v1/groups/g/members', 'POST /v1/batch', 'PUT /v1/users/u'],
  'PUT /v1/webhooks/w',
];
const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;

/** Sends a body that is given as text or bytes, as JSON. */
const sendRaw = ({ method, path }: Endpoint, body: string | Uint8Array, headers = {}) =>
  project.send(method, path, body, headers);

async function expectInvalidRequest(answer: Promise<Answer>): Promise<void> {
  expectError(await answer, 400, 'invalid_request');
}

describe('invalid_request: the body is not a JSON object', () => {
  const NOT_OBJECTS: readonly [string, string | Uint8Array][] = [
    ['malformed JSON', '{"name":'],
    ['two JSON texts', '{}{}'],
    ['a trailing comma', '{"name":"G",}'],
    ['single quotes', "{'name':'G'}"],
    ['a comment', '{/* name */}'],
    ['NaN', '{"name":NaN}'],
    ['a lone control character in a text', '{"name":"a\nb"}'],
    ['an array', '[]'],
    ['an array of objects', '[{"name":"G"}]'],
    ['a text', '"name"'],
    ['a number', '1'],
    ['true', 'true'],
    ['null', 'null'],
    ['only spaces', '  \n '],
    ['a form', 'name=G'],
    ['bytes that are not UTF-8', Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d)],
    ['an overlong UTF-8 sequence', Uint8Array.of(0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d)],
    ['a surrogate encoded in UTF-8', Uint8Array.of(0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d)],
    ['UTF-16', Buffer.from('{"name":"G"}', 'utf16le')],
  ];
  for (const endpoint of WRITES) {
    test(`${nameOf(endpoint)} rejects malformed JSON and JSON that is not an object`, async () => {
      for (const [title, body] of NOT_OBJECTS) {
        const answer = await sendRaw(endpoint, body);
        assert.equal(answer.status, 400, `${title}: ${answer.status} ${answer.text}`);
        expectError(answer, 400, 'invalid_request');
      }
    });

    test(`${nameOf(endpoint)} rejects a body of length zero`, async () => {
      await expectInvalidRequest(sendRaw(endpoint, ''));
      await expectInvalidRequest(project.send(endpoint.method, endpoint.path));
      await expectInvalidRequest(
        project.send(endpoint.method, endpoint.path, undefined, { 'content-type': 'application/json' }),
      );
    });

    test(`${nameOf(endpoint)} rejects a body in another content type`, async () => {
      const body = JSON.stringify(endpoint.body);
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/xml',
        'multipart/form-data',
      ]) {
        await expectInvalidRequest(sendRaw(endpoint, body, { 'content-type': type }));
      }
      for (const type of ['application/jsonx', 'json', 'x', '', ';', 'application/', 'a'.repeat(5_000)]) {
        await expectInvalidRequest(sendRaw(endpoint, body, { 'content-type': type }));
      }
    });
  }

  test('a body without a content type is rejected like another content type', async () => {
    const { url } = project;
    const answer = await fetch(`${url}/v1/groups/untyped`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${project.token}` },
      body: new Blob([new TextEncoder().encode('{"name":"G"}')]),
    });
    assert.equal(answer.status, 400);
    assert.equal(((await answer.json()) as { error: string }).error, 'invalid_request');
  });

  test('a body of application/json in any case and with parameters is accepted', async () => {
    for (const type of [
      'APPLICATION/JSON',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'application/json ; x=y',
      'application/json; charset="utf-8"',
      'application/json; x="charset"; CharSet=UTF8',
    ]) {
      const answer = await project.send('PUT', '/v1/groups/typed', '{"name":"G"}', { 'content-type': type });
      assert.equal(answer.status, 200, `${type}: ${answer.text}`);
    }
  });

  test('a body in another charset than UTF-8 is invalid_request', async () => {
    for (const charset of ['utf-16', 'UTF-16LE', '"utf-16"', 'iso-8859-1', 'utf-8x', '""', '']) {
      for (const type of [
        `application/json; charset=${charset}`,
        `application/json;x=y ; Charset=${charset};z`,
        `application/json; charset=utf-8; charset=${charset}`,
      ]) {
        const headers = { 'content-type': type };
        for (const body of ['{"name":"G"}', Buffer.from('{"name":"G"}', 'utf16le')]) {
          const answer = await project.send('PUT', '/v1/groups/charset', body, headers);
          expectError(answer, 400, 'invalid_request', 'UTF-8');
        }
      }
    }
    expectError(await project.get('/v1/groups/charset'), 401, 'group_not_found');
  });

  test('a body with a content-encoding is rejected, also when it is not compressed', async () => {
    for (const body of [gzipSync('{"name":"G"}'), '{"name":"G"}']) {
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      const answer = await project.send('PUT', '/v1/groups/zipped', body, headers);
      expectError(answer, 400, 'invalid_request', 'uncompressed');
    }
  });

  test('a body with the content-encoding identity, in letters of either case, is accepted', async () => {
    for (const encoding of ['identity', 'Identity', 'IDENTITY']) {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      expectDone(await project.send('PUT', '/v1/groups/identity', '{"name":"G"}', headers));
    }
  });

  test('a body with spaces around the object is accepted', async () => {
    expectDone(await project.send('PUT', '/v1/groups/spaced', ' \r\n\t{ "name" : "G" } \n'));
  });
});

describe('an empty object', () => {
  for (const endpoint of WRITES) {
    const legal = ALL_OPTIONAL.includes(nameOf(endpoint)) || endpoint.path.startsWith('/v1/organizations/g');
    test(`${nameOf(endpoint)} with an empty object is ${legal ? 'legal, every field is optional' : 'missing_field'}`, async () => {
      const answer = await sendRaw(endpoint, '{}');
      if (legal) assert.equal(answer.status, 200, answer.text);
      else expectError(answer, 400, 'missing_field');
    });
  }
});

describe('unexpected_field', () => {
  for (const endpoint of WRITES) {
    test(`${nameOf(endpoint)} with an unknown field is unexpected_field, names it and lists the expected ones`, async () => {
      const answer = await sendRaw(endpoint, JSON.stringify({ ...endpoint.body, nick: 'N' }));
      expectError(answer, 400, 'unexpected_field', 'nick', ...Object.keys(endpoint.body ?? {}));
    });

    test(`${nameOf(endpoint)} with the name of an object member as a field is unexpected_field`, async () => {
      for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
        const fields = JSON.stringify(endpoint.body).slice(1, -1);
        const answer = await sendRaw(endpoint, `{${fields},${JSON.stringify(name)}:{"x":1}}`);
        expectError(answer, 400, 'unexpected_field', name);
      }
    });
  }

  test('the message of unexpected_field names every unexpected field', async () => {
    expectError(
      await project.put('/v1/groups/g', { one: 1, two: 2, name: 'G' }),
      400,
      'unexpected_field',
      'one',
      'two',
    );
  });
});

describe('the order of checks: the first failure answers', () => {
  /** Each request fails at the named step and at all later steps. */
  const PRESENCE = '/v1/users/nobody/presence';
  const STEPS: readonly [string, string, number, ErrorCode][] = [
    ['the body is a JSON object', '[{"nick":1,"groupID":7}]', 400, 'invalid_request'],
    ['unknown fields', '{"nick":1,"groupID":7}', 400, 'unexpected_field'],
    ['missing fields', '{"groupID":7}', 400, 'missing_field'],
    ['field types and values', '{"groupID":"nothing","location":7}', 400, 'invalid_field'],
    ['what is referenced exists', '{"groupID":"g","location":{"p":"1"}}', 401, 'user_not_found'],
  ];

  test('authentication comes before the body', async () => {
    for (const [, body] of STEPS) {
      const headers = { 'content-type': 'application/json' };
      expectError(await server.bare('PUT', PRESENCE, headers, body), 401, 'missing_authorization_header');
    }
  });

  test('authentication comes before content types, query parameters and malformed IDs', async () => {
    const xml = { 'content-type': 'text/xml' };
    expectError(await server.bare('PUT', '/v1/groups/g', xml, '<g/>'), 401, 'missing_authorization_header');
    for (const path of ['/v1/groups/a%00b?nick=1', '/v1/groups?limit=x', '/v1/groups/%C2%AD']) {
      expectError(await server.bare('GET', path), 401, 'missing_authorization_header');
    }
  });

  for (const [step, body, status, code] of STEPS) {
    test(`the check "${step}" comes before the steps after it: ${code}`, async () => {
      expectError(await project.send('PUT', PRESENCE, body), status, code);
    });
  }

  test('a malformed escape in the query is invalid_field, after earlier errors of the body', async () => {
    const put = (body: string) => project.send('PUT', '/v1/groups/g?a=%zz', body);
    expectError(await put('[]'), 400, 'invalid_request');
    expectError(await put('{"nick":1}'), 400, 'unexpected_field', 'nick');
    expectError(await put('{"name":"G"}'), 400, 'invalid_field', 'query parameter a');
    const required = await project.get('/v1/users/u/presence?groupID=%ff');
    expectError(required, 400, 'invalid_field', 'query parameter groupID');
  });

  test('a malformed escape in the path is invalid_field, after earlier errors of body and query, and beside other invalid fields', async () => {
    const put = (body: string, query = '') => project.send('PUT', `/v1/groups/%FF${query}`, body);
    expectError(await put('['), 400, 'invalid_request');
    expectError(await put('{"nick":1}'), 400, 'unexpected_field', 'nick');
    expectError(await put('{"name":"G"}', '?nick=1'), 400, 'unexpected_field', 'query parameter nick');
    expectError(await put('{"status":7}'), 400, 'missing_field', 'name');
    expectError(
      await put('{"name":7}', '?a=%zz'),
      400,
      'invalid_field',
      'id in the path',
      'name',
      'parameter a',
    );
    const list = await project.get('/v1/groups/%FF/members?limit=%31%30&token=x');
    assert.doesNotMatch(expectError(list, 400, 'invalid_field', 'id in the path', 'token'), /limit/);
    const both = await project.get('/v1/threads/%00/messages/%FF');
    expectError(both, 400, 'invalid_field', 'id in the path', 'messageId in the path');
  });

  test('unknown references are reported before conflicts', async () => {
    const group = { id: 'g', name: 'G', members: ['nobody'] };
    expectError(await project.post('/v1/groups', group), 401, 'user_not_found', 'nobody');
    expectError(await project.post('/v1/groups', { id: 'g', name: 'G' }), 409, 'group_already_exists', 'g');
  });

  test('invalid field values are reported before references and conflicts', async () => {
    expectError(
      await project.post('/v1/groups', { id: 'g', name: 7, members: ['nobody'] }),
      400,
      'invalid_field',
      'name',
    );
    expectError(
      await project.post('/v1/groups/nowhere/members', { add: ['x'], remove: ['x'] }),
      400,
      'invalid_field',
      'x',
    );
    expectError(await project.post('/v1/users', { id: 'u', email: 'no' }), 400, 'invalid_field', 'email');
  });

  test('the message lists all fields that fail at the same step', async () => {
    expectError(await project.put('/v1/users/u/presence', {}), 400, 'missing_field', 'groupID', 'location');
    expectError(await project.put('/v1/u/preferences', {}), 400, 'missing_field', 'key', 'value');
    const wrong = { name: 7, status: 'gone', metadata: [], members: 'u' };
    expectError(await project.put('/v1/groups/g', wrong), 400, 'invalid_field', ...Object.keys(wrong));
  });

  test('a rejected request changes nothing', async () => {
    const own = await server.projectWithGroup('g', 'u');
    await own.unchanged(async () => {
      await own.put('/v1/groups/g', { name: 'Changed', nick: 1 });
      await own.put('/v1/groups/g', { name: 'Changed', members: ['nobody'] });
      await own.put('/v1/groups/g', { name: 'Changed', status: 'gone' });
      await own.post('/v1/groups/g/members', { remove: ['u'], add: ['nobody'] });
      await own.post('/v1/batch', { users: [{ id: 'new' }], groups: [{ id: 'g', members: ['nobody'] }] });
      await own.put('/v1/users/u', { name: 'Changed', email: 'no' });
    });
  });
});

describe('a body where none is read', () => {
  const READS: readonly Endpoint[] = DATA_ENDPOINTS.filter(({ method }) => method === 'GET');

  before(async () => {
    expectDone(await project.put('/v1/threads/t', { groupID: 'g', name: 'T' }));
    const message = { authorID: 'u', content: [{ type: 'markdown', children: [{ text: 'Hi' }] }] };
    expectDone(await project.put('/v1/threads/t/messages/m', message));
  });

  test('GET ignores a body and its content type', async () => {
    for (const { path } of READS) {
      for (const [type, body] of [
        ['application/json', '{"a":'],
        ['text/xml', '<a/>'],
        ['application/json', ''],
      ] as const) {
        const answer = await project.send('GET', path, body, { 'content-type': type });
        assert.equal(answer.status, 200, `GET ${path} ${type}: ${answer.text}`);
      }
    }
  });

  test('GET with Content-Type: application/json and no body is accepted', async () => {
    for (const { path } of READS) {
      const answer = await project.send('GET', path, undefined, { 'content-type': 'application/json' });
      assert.equal(answer.status, 200, `GET ${path}: ${answer.text}`);
    }
  });

  test('DELETE ignores a body and its content type', async () => {
    const bodies = [
      ['application/json', undefined],
      ['application/json', ''],
      ['application/json', '{"a":'],
      ['text/xml', '<a/>'],
      ['application/json', '[]'],
    ] as const;
    for (const [type, body] of bodies) {
      expectDone(await project.put('/v1/groups/short-lived', { name: 'G' }));
      expectDone(
        await project.send('DELETE', '/v1/groups/short-lived', body, { 'content-type': type }),
        'short-lived',
      );
      expectDone(await project.put('/v1/users/short-lived', {}));
      expectDone(
        await project.send('DELETE', '/v1/users/short-lived', body, { 'content-type': type }),
        'short-lived',
      );
    }
  });
});
