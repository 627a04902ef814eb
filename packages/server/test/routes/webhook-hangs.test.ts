/** Receivers that hang: when they are given up, and that they do not slow the others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { closedAfterTests } from '../support/closing.ts';
import { expectError, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import { until, within } from '../support/waiting.ts';
import {
  ALLOWED,
  type Answering,
  type Attempt,
  attempts,
  createWebhook,
  WebhookReceiver,
  webhook,
} from '../support/webhook-receiver.ts';

const ANSWER_MS = limits.WEBHOOK_ANSWER_SECONDS * 1_000;
const PROJECTS = 10;
/** The webhooks of each project: the receivers of half of them hang. */
const WEBHOOKS = 100;
const USERS = { types: ['user.*'] };
const hang: Answering = () => {};

const closed = closedAfterTests();

async function receiving(answer?: Answering): Promise<WebhookReceiver> {
  const receiver = closed(await WebhookReceiver.open());
  if (answer !== undefined) receiver.answer = answer;
  return receiver;
}

/** Sends a request again while it is answered 503, as where the machine is too busy to answer in time. */
const patiently = (request: () => Promise<Answer>) =>
  until('an answer other than 503', async () => (await request()).status !== 503);

describe('a receiver that hangs', () => {
  const clock = new MovedClock();
  const server = oneServer({ clock, settings: { webhooksAllow: ALLOWED } });

  test('a receiver that does not answer is given up after 10 s, and gets the same delivery again', async () => {
    const [project, receiver] = [await server.project(), await receiving(hang)];
    await createWebhook(project, 'w', receiver.url, USERS);
    await project.seedUsers('ada');
    await receiver.requests(1);
    clock.move(ANSWER_MS - 1);
    for (let reading = 0; reading < 20; reading += 1) assert.deepEqual(await attempts(project, 'w'), []);
    clock.move(1);
    await until('the attempt', async () => (await attempts(project, 'w')).length === 1);
    const [attempt] = await attempts(project, 'w');
    assert.deepEqual(
      [attempt?.status, attempt?.error],
      [null, 'the receiver did not answer within 10 seconds'],
    );
    receiver.acknowledge();
    await until('the same delivery', () => {
      clock.move(1_000);
      return receiver.received.length === 2;
    });
    const [first, second] = receiver.received;
    assert.deepEqual([second?.id, second?.text], [first?.id, first?.text]);
  });

  test('ten tests of webhooks of a project are under way at most: one more is 429 with Retry-After', async () => {
    const [project, receiver] = [await server.project(), await receiving(hang)];
    await createWebhook(project, 'w', receiver.url, USERS);
    const send = () => project.post('/v1/webhooks/w/test', {});
    const underWay = Array.from({ length: 10 }, send);
    await receiver.requests(10);
    const rejected = await send();
    expectError(rejected, 429, 'invalid_request', 'too many tests of webhooks');
    assert.equal(rejected.headers['retry-after'], '1');
    clock.move(ANSWER_MS);
    for (const answer of await Promise.all(underWay)) expectOk(answer);
    receiver.acknowledge();
    expectOk(await send());
  });

  test('a receiver whose headers come and whose body hangs has acknowledged', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    receiver.answer = (response) => void response.writeHead(200).write('thanks');
    await createWebhook(project, 'w', receiver.url, USERS);
    await project.seedUsers('ada');
    await receiver.requests(1);
    await until('the acknowledgement', async () => (await webhook(project, 'w')).last_attempt !== null);
    assert.equal((await webhook(project, 'w')).behind, 0);
    const [attempt, ...others] = await attempts(project, 'w');
    assert.deepEqual([attempt?.status, attempt?.error, attempt?.answer], [200, null, 'thanks']);
    assert.deepEqual([others.length, receiver.received.length], [0, 1]);
  });

  test('a receiver that sends interim responses without end is given up before the 10 s, and some of them are no failure', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    receiver.answer = ({ socket }) => {
      const write = () => {
        while (socket?.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)));
      };
      socket?.on('drain', write);
      write();
    };
    await createWebhook(project, 'w', receiver.url, { status: 'paused' });
    const flooded = await project.post('/v1/webhooks/w/test', {});
    const { status, error } = flooded.json<Attempt>();
    assert.deepEqual([status, error], [null, 'no answer: more than 100 interim responses']);
    receiver.answer = (response) => {
      for (let count = 0; count < 10; count += 1) response.writeProcessing();
      response.writeHead(204).end();
    };
    const answered = await project.post('/v1/webhooks/w/test', {});
    assert.deepEqual([answered.json<Attempt>().status, answered.json<Attempt>().error], [204, null]);
  });
});

describe('1,000 webhooks of which half have receivers that hang', () => {
  const server = oneServer({ settings: { webhooksAllow: ALLOWED } });

  test('the other half of 1,000 webhooks gets all of its deliveries before the first receiver that hangs is given up', async () => {
    const [hanging, healthy] = [await receiving(hang), await receiving()];
    const projects = await Promise.all(Array.from({ length: PROJECTS }, () => server.project()));
    await Promise.all(
      projects.map(async (project) => {
        for (let index = 0; index < WEBHOOKS; index += 1)
          await patiently(() =>
            project.put(`/v1/webhooks/w${index}`, {
              url: (index % 2 === 0 ? hanging : healthy).url,
              ...USERS,
            }),
          );
      }),
    );
    const half = (PROJECTS * WEBHOOKS) / 2;
    const write = (...ids: string[]) =>
      Promise.all(
        projects.map((project) =>
          patiently(() => project.post('/v1/batch', { users: ids.map((id) => ({ id })) })),
        ),
      );
    const rest = write('ada')
      .then(() => write('bob', 'cid'))
      .then(() => healthy.changes(3 * half));
    // From the first write on. After twice this time receivers that hang are given up, and make room.
    const changes = await within(ANSWER_MS / 2, rest, 'the deliveries to the receivers that answer');
    await hanging.requests(half);
    assert.equal(changes.length, 3 * half);
    for (const user of ['ada', 'bob', 'cid'])
      assert.equal(changes.filter((change) => change.user === user).length, half, user);
  });
});
