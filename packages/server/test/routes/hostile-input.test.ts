import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { DATA_ENDPOINTS } from '../support/endpoints.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';
import { expectInVocabulary } from '../support/vocabulary.ts';

const server = clockedServer();
let project: Project;
const WRITES = DATA_ENDPOINTS.filter(({ body }) => body !== undefined);

before(async () => {
  project = await server.projectWithGroup('g', 'u');
});

/** Writes metadata as a text, and returns the answer. */
const putMetadata = (json: string) =>
  project.send('PUT', '/v1/groups/meta', `{"name":"G","metadata":${json}}`);

/**
 * Checks that metadata is read back as written, in a single group and in the list. Texts are compared, because
 * `deepEqual` cannot compare very deep objects.
 */
async function expectUnaltered(json: string): Promise<void> {
  expectDone(await putMetadata(json));
  const sent = JSON.stringify(JSON.parse(json));
  const read = expectOk<{ metadata: unknown }>(await project.get('/v1/groups/meta'));
  assert.equal(JSON.stringify(read.metadata), sent);
  const listed = expectOk<{ id: string; metadata: unknown }[]>(await project.get('/v1/groups'));
  assert.equal(JSON.stringify(listed.find(({ id }) => id === 'meta')?.metadata), sent);
}

describe('deep and large JSON', () => {
  const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
  const DEEP: readonly [string, string][] = [
    ['30,000 arrays', nested('[', ']', 30_000)],
    ['30,000 objects', `${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}`],
    ['30,000 objects in a field', `{"name":"G","metadata":${'{"a":'.repeat(30_000)}1${'}'.repeat(30_001)}`],
    ['30,000 arrays in a field', `{"name":"G","metadata":{"a":${nested('[', ']', 30_000)}}}`],
    ['30,000 arrays as members', `{"name":"G","members":${nested('[', ']', 30_000)}}`],
    ['30,000 arrays as users', `{"users":${nested('[', ']', 30_000)}}`],
    ['30,000 arrays as a value', `{"key":"notification_channels","value":${nested('[', ']', 30_000)}}`],
    [
      '30,000 objects as a location',
      `{"groupID":"g","location":${'{"a":'.repeat(30_000)}1${'}'.repeat(30_001)}`,
    ],
    ['30,000 open brackets', '['.repeat(30_000)],
  ];
  for (const [title, body] of DEEP) {
    test(`${title} are rejected by every write`, async () => {
      for (const { method, path } of WRITES) {
        const answer = await project.send(method, path, body);
        assert.equal(answer.status, 400, `${method} ${path}: ${answer.text.slice(0, 300)}`);
        expectInVocabulary(answer);
      }
    });
  }

  test('a body of 10 MB of [ is rejected', async () => {
    const body = Buffer.alloc(10_000_000, '[');
    for (const path of ['/v1/groups/g', '/v1/batch']) {
      expectError(
        await project.send(path === '/v1/batch' ? 'POST' : 'PUT', path, body),
        400,
        'invalid_request',
      );
    }
  });

  test('a million unexpected fields and a million invalid members get a short answer', async () => {
    const fields = Array.from({ length: 200_000 }, (_, index) => `"f${index}":0`).join(',');
    const members = `[${'7,'.repeat(999_999)}7]`;
    for (const [body, code] of [
      [`{${fields}}`, 'unexpected_field'],
      [`{"name":"G","members":${members}}`, 'invalid_field'],
    ] as const) {
      const answer = await project.send('PUT', '/v1/groups/g', body);
      expectError(answer, 400, code);
      assert.ok(answer.text.length < 5_000, `${answer.text.length} bytes`);
    }
  });

  test('a long name of an unexpected field is not repeated in full', async () => {
    const answer = await project.send('PUT', '/v1/groups/g', JSON.stringify({ ['x'.repeat(1_000_000)]: 1 }));
    expectError(answer, 400, 'unexpected_field');
    assert.ok(answer.text.length < 20_000, `${answer.text.length} bytes`);
  });

  test('a key that a body has twice has one meaning: the validated value is the stored value', async () => {
    expectDone(await project.send('PUT', '/v1/groups/twice', '{"name":7,"name":"Good"}'));
    assert.equal((await project.group('twice')).name, 'Good');
    expectError(
      await project.send('PUT', '/v1/groups/twice', '{"name":"Good","name":7}'),
      400,
      'invalid_field',
    );
    const batch = '{"groups":[{"id":"twice","name":"A","name":"B"}],"groups":[{"id":"twice","name":"C"}]}';
    expectOk(await project.send('POST', '/v1/batch', batch));
    assert.equal((await project.group('twice')).name, 'C');
  });
});

describe('metadata is read back as written, or rejected', () => {
  const ACCEPTED: readonly string[] = [
    '{"a":0.1,"b":-0.1,"c":1e-7,"d":1e21,"e":1.5e300,"f":5e-324}',
    '{"a":9007199254740991,"b":-9007199254740991,"c":9007199254740992}',
    '{"a":1.0,"b":1e0,"c":100e-2}',
    '{"a":1.7976931348623157e308}',
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"x":1}},"toString":1,"":2}',
    '{"a":{"__proto__":null},"b":[{"__proto__":[]}]}',
    '{"a":[[],{},"",null,true,false,[null]]}',
    '{"a":"\\u2028\\u2029 \\u0001 \\u001f \\" \\\\ / < > &"}',
    '{"👋 \\ud83d\\udc4b":"\\uffff \\ue000"}',
    '{"1":"a","0":"b","10":"c"}',
    '{"":{"":[null,true,false,[],{}]}}',
    '{"n":[0.1,123456789.125,1.50e2,100000000000000000000,0.00000000000000000001,1e+2]}',
    '{"text":"\\u0000 \\ud83d\\ude00 \\/ \\u2028","lone":"\\ud800"}',
    '{"$ref":"#","$where":"1","; DROP TABLE groups; --":"\' OR 1=1"}',
  ];
  for (const json of ACCEPTED)
    test(`metadata ${json.slice(0, 60)} is read back as written`, () => expectUnaltered(json));

  test('a negative zero in metadata is read back as a zero', async () => {
    expectDone(await putMetadata('{"a":-0,"b":-0.0}'));
    const { metadata } = expectOk<{ metadata: Record<string, number> }>(await project.get('/v1/groups/meta'));
    assert.ok(metadata.a === 0 && metadata.b === 0);
  });

  const REJECTED: readonly string[] = [
    '{"a":1e400}',
    '{"a":-1e400}',
    '{"a":-1e999}',
    '{"a":9007199254740993}',
    '{"a":[{"b":123456789012345678901234567890}]}',
    '{"a":0.1234567890123456789}',
    '{"a":1e-400}',
    `{"a":1${'0'.repeat(400)}}`,
    '[]',
    '"{}"',
    'null',
    '1e400',
    'true',
  ];
  for (const json of REJECTED) {
    test(`metadata ${json.slice(0, 60)} is invalid_field, for the group and in a batch`, async () => {
      expectError(await putMetadata(json), 400, 'invalid_field', 'metadata');
      const batch = `{"users":[{"id":"u","metadata":${json}}]}`;
      expectError(await project.send('POST', '/v1/batch', batch), 400, 'invalid_field', 'users[0].metadata');
    });
  }

  test('a number too large for JSON readers in any other field is invalid_field like any other value', async () => {
    for (const number of ['1e400', '9007199254740993', '0.12345678901234567890']) {
      expectError(
        await project.send('PUT', '/v1/groups/g', `{"name":${number}}`),
        400,
        'invalid_field',
        'name',
      );
      expectError(
        await project.send('PUT', '/v1/groups/g', `{"nick":${number}}`),
        400,
        'unexpected_field',
        'nick',
      );
      expectError(await project.send('PUT', '/v1/groups/g', number), 400, 'invalid_request');
      const location = `{"groupID":"g","location":{"page":${number}}}`;
      expectError(
        await project.send('PUT', '/v1/users/u/presence', location),
        400,
        'invalid_field',
        'location',
      );
    }
  });

  for (const depth of [500, 999, 1_001, 2_000, 8_000]) {
    test(`metadata that is nested ${depth} deep within 16 KiB is read back as written`, async () => {
      const json = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      await expectUnaltered(json);
      expectOk(await project.send('POST', '/v1/batch', `{"groups":[{"id":"meta","metadata":${json}}]}`));
      expectDone(await putMetadata('{}'));
    });
  }

  test('a number of a million zeros is parsed in the time of any body of its length', async () => {
    const zeros = '0'.repeat(1_000_000);
    for (const number of [`1.${zeros}1`, `1${zeros}1`, `1${zeros}`, `0.${zeros}1`, `1e1${zeros}`]) {
      expectError(await putMetadata(`{"a":${number}}`), 400, 'invalid_field', 'metadata');
    }
  });

  test('POST /v1/authorize accepts at most 256 KiB, like every small body', async () => {
    const authorize = (digits: number) => {
      const body = `{"signed_app_token":1.${'0'.repeat(digits)}1}`;
      return server.bare('POST', '/v1/authorize', { 'content-type': 'application/json' }, body);
    };
    expectError(await authorize(262_000), 400, 'invalid_field', 'signed_app_token');
    expectError(await authorize(262_144), 413, 'invalid_request');
  });

  test('metadata of 16 KiB is read back as written, one byte more is invalid_field; bytes count, not characters', async () => {
    const sized = (bytes: number, filler: string) => {
      const room = bytes - '{"a":""}'.length;
      const unit = Buffer.byteLength(filler);
      return `{"a":"${filler.repeat(Math.floor(room / unit))}${'x'.repeat(room % unit)}"}`;
    };
    for (const filler of ['x', 'ü', '🎉']) {
      await expectUnaltered(sized(16_384, filler));
      expectError(await putMetadata(sized(16_385, filler)), 400, 'invalid_field', 'metadata', '16384');
    }
    await expectUnaltered(`{"a":"${'x'.repeat(16_000)}"  ,${' '.repeat(10_000)}"b":1}`);
  });
});

describe('texts that a store cannot store', () => {
  const LONE = ['"\\ud800"', '"\\udc00 x"', '"a\\ud83d"', '"\\ude00\\ud83d"'];
  const NUL = ['"\\u0000"', '"a\\u0000b"', '"a\\u0000"'];

  test('lone surrogates and NUL in a location and in metadata are read back as written or rejected, never altered', async () => {
    for (const text of [...LONE, ...NUL]) {
      for (const location of [`{"p":${text}}`, `{${text}:"p"}`]) {
        for (const durable of [false, true]) {
          const body = `{"groupID":"g","location":${location},"durable":${durable}}`;
          const answer = await project.send('PUT', '/v1/users/u/presence', body);
          expectInVocabulary(answer);
          if (answer.status !== 200) continue;
          const query = encodeURIComponent(location);
          const { users } = expectOk<{ users: unknown[] }>(
            await project.get(`/v1/groups/g/presence?location=${query}`),
          );
          assert.equal(users.length, 1, `${location} is found again`);
          assert.ok(JSON.stringify(users).includes(JSON.stringify(JSON.parse(location))), location);
        }
      }
      const answer = await putMetadata(`{"a":${text}}`);
      expectInVocabulary(answer);
      if (answer.status === 200) await expectUnaltered(`{"a":${text}}`);
    }
  });
});

describe('IDs without measure', () => {
  const LONG = ['x'.repeat(321), 'x'.repeat(10_000), 'x'.repeat(200_000), 'ü'.repeat(400), '🎉'.repeat(321)];

  test('IDs that are too long in bodies are invalid_field, and the answer does not repeat them', async () => {
    for (const id of [...LONG, 'x'.repeat(1_000_000)]) {
      const answers = [
        await project.put('/v1/groups/g', { members: ['u', id] }),
        await project.post('/v1/groups/g/members', { remove: [id] }),
        await project.post('/v1/batch', { users: [{ id }] }),
      ];
      // A longer body is 413 there.
      if (LONG.includes(id)) {
        answers.push(await project.post('/v1/users', { id }));
        const presence = { groupID: id, location: { p: '1' } };
        answers.push(await project.put('/v1/users/u/presence', presence));
      }
      for (const answer of answers) {
        expectError(answer, 400, 'invalid_field');
        assert.ok(answer.text.length < 5_000, `${answer.text.length} bytes`);
      }
    }
  });

  test('IDs that are too long in paths are invalid_field, or the request line is too long', async () => {
    for (const id of LONG.slice(0, 2)) {
      const answer = await project.get(`/v1/groups/${id}`);
      expectInVocabulary(answer);
      assert.equal(answer.status, 400);
    }
    const { status } = await project.get(`/v1/groups/${'x'.repeat(200_000)}`).catch(() => ({ status: 431 }));
    assert.ok([400, 414, 431].includes(status), String(status));
  });
});

describe('query strings and headers without measure', () => {
  test('thousands of query parameters are rejected with unexpected_field', async () => {
    const some = Array.from({ length: 8_000 }, (_, index) => `p${index}=1`)
      .join('&')
      .slice(0, 60_000);
    expectError(await project.get(`/v1/groups?${some}`), 400, 'unexpected_field', 'p0');
    expectError(
      await project.get(`/v1/groups?${'limit=1&'.repeat(7_000)}limit=1`),
      400,
      'invalid_field',
      'limit',
    );
    expectInVocabulary(await project.get(`/v1/groups?${'&'.repeat(60_000)}`));
    expectInVocabulary(await project.get(`/v1/groups?${'limit[a]'.repeat(100)}=1`));
  });

  test('a header of 100 KB is rejected, and the server answers the next request', async () => {
    const status = await project
      .get('/v1/groups', { 'x-large': 'x'.repeat(100_000) })
      .then((answer) => answer.status)
      .catch(() => 431);
    assert.equal(status, 431);
    assert.equal((await project.get('/v1/groups')).status, 200);
  });

  test('If-Match and If-None-Match of any form are answered, never with 500', async () => {
    const values = [
      '',
      '"',
      '""',
      '*, *',
      'W/"a"',
      '"a", "b"',
      ',',
      'a'.repeat(5_000),
      '"\xe9"',
      "' OR 1=1",
      `${'"a",'.repeat(2_000)}"a"`,
    ];
    for (const value of values) {
      for (const name of ['if-match', 'if-none-match']) {
        const headers = { [name]: value };
        for (const answer of [
          await project.get('/v1/groups/g', headers),
          await project.put('/v1/groups/g', { name: 'G' }, headers),
          await project.post('/v1/groups/g/members', { add: ['u'] }, headers),
        ]) {
          assert.ok(answer.status < 500, `${name}: ${value.slice(0, 20)}: ${answer.text}`);
          if (answer.status >= 400) expectInVocabulary(answer);
        }
      }
    }
  });
});

test('the server answers the next request after all hostile input', async () => {
  assert.equal((await project.get('/v1/groups/g')).status, 200);
});
