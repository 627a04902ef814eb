/** The threads that read large bodies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { ServiceError } from '../../src/core/service-error.ts';
import { BodyMemory } from '../../src/http/bodies/body-memory.ts';
import { BodyThreads } from '../../src/http/bodies/body-threads.ts';
import { BodyWorker } from '../../src/http/bodies/body-worker.ts';
import { ReceivedBody } from '../../src/http/bodies/received-body.ts';
import { unpackIds } from '../../src/store/worker-threads/packed-ids.ts';
import { closing } from '../support/closing.ts';

const log = pino({ level: 'silent' });
const memory = new BodyMemory(64 * 1_024 ** 2);

function bodyOf(text: string): ReceivedBody {
  const body = new ReceivedBody(memory);
  assert.ok(body.add(new TextEncoder().encode(text)));
  return body;
}

const isUnavailable = (error: unknown) => error instanceof ServiceError && error.status === 503;

test('a body comes back with its lists packed, and its bytes are gone from here', async () => {
  await using threads = closing(new BodyThreads(log));
  const bytes = new TextEncoder().encode(`{"name":"G","members":["b","a"]}${' '.repeat(100_000)}`);
  const body = new ReceivedBody(memory);
  assert.ok(body.add(bytes));
  const reading = await threads.read(1, 'groupWrite', body);
  assert.ok(reading.type === 'read');
  assert.deepEqual(reading.value, { name: 'G' });
  const { members } = reading.lists;
  assert.ok(members !== undefined);
  assert.equal(members.count, 2);
  assert.deepEqual(unpackIds(members), ['b', 'a']);
  assert.equal(bytes.length, 0);
});

test('a thread that dies while it reads makes that request 503', async () => {
  const worker = new BodyWorker();
  const reading = worker.read({ name: 'groupWrite', parts: bodyOf('{}').takeParts() });
  await Promise.all([worker.close(), assert.rejects(reading, isUnavailable)]);
  assert.equal(worker.isAlive, false);
});

test('an unexpected failure of a thread that reads is thrown with its cause, and the thread goes on', async () => {
  await using worker = closing(new BodyWorker());
  await assert.rejects(worker.read({ name: 'none' as 'groupWrite', parts: [] }), (error: Error) => {
    assert.match(String(error.stack), /readLargeBody/);
    return error instanceof TypeError;
  });
  const reading = await worker.read({ name: 'groupWrite', parts: bodyOf('{"name":"G"}').takeParts() });
  assert.equal(reading.type, 'read');
});

test('closing makes the requests whose bodies wait 503, of every project', async () => {
  const threads = new BodyThreads(log);
  const readings = [1, 1, 1, 2, 2, 3].map((project) =>
    assert.rejects(threads.read(project, 'groupWrite', bodyOf('{}')), isUnavailable),
  );
  await Promise.all([threads.close(), ...readings]);
  await assert.rejects(threads.read(1, 'groupWrite', bodyOf('{}')), isUnavailable);
});

test('every body of many projects is read', async () => {
  await using threads = closing(new BodyThreads(log));
  const projects = Array.from({ length: 30 }, (_, index) => index % 7);
  const readings = await Promise.all(
    projects.map((project, index) => threads.read(project, 'groupWrite', bodyOf(`{"name":"${index}"}`))),
  );
  assert.deepEqual(
    readings.map((reading) => reading.type === 'read' && reading.value),
    projects.map((_, index) => ({ name: String(index) })),
  );
});
