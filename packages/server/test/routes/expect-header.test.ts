import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';
import { RawConnection, requestHead, statuses } from '../support/raw-connection.ts';

const server = clockedServer();
let project: Project;

before(async () => {
  project = await server.project();
  expectDone(await project.put('/v1/groups/g', { name: 'G' }));
});

const head = (line: string, ...headers: string[]) => requestHead(project.token, line, ...headers);

const open = () => new RawConnection(server.raw.url);

test('a request with Expect: 100-continue is answered', async () => {
  const connection = open();
  const body = '{"name":"G"}';
  connection.write(
    head(
      'PUT /v1/groups/g',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      'Connection: close',
    ),
  );
  await connection.received((sofar) => sofar.includes('100 Continue'));
  connection.write(body);
  assert.deepEqual(statuses(await connection.closed()), [100, 200]);
});

test('a request with Expect: 100-continue that its head alone rejects gets no 100', async () => {
  const type = 'Content-Type: application/json';
  for (const [line, length, expected] of [
    ['PUT /v1/users/u', 300_000, 413],
    ['PUT /v1/nowhere', 12, 404],
  ] as const) {
    const connection = open();
    connection.write(head(line, type, `Content-Length: ${length}`, 'Expect: 100-continue'));
    assert.deepEqual(statuses(await connection.closed()), [expected]);
  }
});

test('a request with another Expect is invalid_request with 417, and its body is not applied', async () => {
  for (const [version, expected] of [
    ['HTTP/1.1', 417],
    ['HTTP/1.0', 200],
  ] as const) {
    const connection = open();
    const body = '{"name":"Tea"}';
    const put = head(
      'PUT /v1/groups/g',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: tea',
      'Connection: close',
    ).replace('HTTP/1.1', version);
    connection.write(put + body);
    const text = await connection.closed();
    assert.deepEqual(statuses(text), [expected]);
    assert.equal(text.includes('invalid_request'), expected === 417);
    assert.equal((await project.group('g')).name, expected === 417 ? 'G' : 'Tea');
  }
});
