import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { closedAfterTests } from '../support/closing.ts';
import { expectDone, expectError } from '../support/expect.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import { Project } from '../support/project-client.ts';
import { until } from '../support/waiting.ts';
import {
  ALLOWED,
  type Answering,
  attempts,
  createWebhook,
  WebhookReceiver,
  webhook,
} from '../support/webhook-receiver.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const clock = new MovedClock();
const server = oneServer({ clock, settings: { webhooksAllow: ALLOWED, changesSeconds: 10 * 86_400 } });
const closed = closedAfterTests();

interface Case {
  readonly project: Project;
  readonly receiver: WebhookReceiver;
}

/** A webhook whose first delivery the receiver answers so. */
async function failing(answer: Answering): Promise<Case> {
  const [project, receiver] = [await server.project(), closed(await WebhookReceiver.open())];
  receiver.answer = answer;
  await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
  await project.seedUsers('ada');
  await recorded({ project, receiver }, 1);
  return { project, receiver };
}

const status =
  (code: number, headers: Record<string, string> = {}): Answering =>
  (response) =>
    response.writeHead(code, headers).end();

/** Resolves when so many attempts are stored. */
const recorded = ({ project }: Case, count: number) =>
  until(`${count} attempts`, async () => (await attempts(project, 'w')).length >= count);

/** Moves the clock to just before the pause is over, and then past its jitter: there is one attempt more, after it. */
async function repeatsAfter(each: Case, pauseMs: number): Promise<void> {
  const before = (await attempts(each.project, 'w')).length;
  const sent = Date.parse((await attempts(each.project, 'w'))[0]?.at ?? '');
  clock.move(pauseMs * 1.1 + 5 * SECOND);
  await recorded(each, before + 1);
  const [newest] = await attempts(each.project, 'w');
  const pause = Date.parse(newest?.at ?? '') - sent;
  assert.ok(pause >= pauseMs, `${pause} ms instead of ${pauseMs}`);
  assert.ok(pause <= pauseMs * 1.1 + 5 * SECOND, `${pause} ms instead of ${pauseMs}`);
}

test('a delivery that fails is repeated after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, then every 2 h, with the same content', async () => {
  const each = await failing(status(500));
  const pauses = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 2 * HOUR];
  for (const pause of pauses) await repeatsAfter(each, pause);
  const { received } = each.receiver;
  assert.deepEqual(new Set(received.map(({ id, text }) => `${id} ${text}`)).size, 1);
  assert.ok(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size > 5);
  each.receiver.acknowledge();
  await each.project.seedUsers('bob');
  clock.move(3 * HOUR);
  const users = (await each.receiver.changes(2)).map(({ user }) => user);
  assert.deepEqual(users, ['ada', 'bob']);
  await until('nothing waits', async () => (await webhook(each.project, 'w')).behind === 0);
  // After a success the pauses begin anew.
  each.receiver.answer = status(503);
  const count = (await attempts(each.project, 'w')).length;
  await each.project.seedUsers('cid');
  await recorded(each, count + 1);
  await repeatsAfter(each, 5 * SECOND);
});

test('Retry-After is honoured in seconds and as a date, up to 1 h', async () => {
  const each = await failing(status(503, { 'retry-after': '600' }));
  each.receiver.answer = (response) => {
    const date = new Date(clock.now() + 20 * MINUTE).toUTCString();
    response.writeHead(429, { 'retry-after': date }).end();
  };
  await repeatsAfter(each, 600 * SECOND);
  each.receiver.answer = status(503, { 'retry-after': '86400' });
  await repeatsAfter(each, 20 * MINUTE - SECOND);
  each.receiver.answer = status(503, { 'retry-after': 'soon' });
  await repeatsAfter(each, HOUR);
  // The fifth failure has the pause of the fourth and later ones.
  await repeatsAfter(each, 10 * MINUTE);
});

test('a webhook whose receiver answers 410 is failing at once, and the service records that', async () => {
  const each = await failing(status(410));
  const { project, receiver } = each;
  await until('failing', async () => (await webhook(project, 'w')).status === 'failing');
  const [, change] = await readChanges(project, 2, { type: 'webhook.*' });
  assert.deepEqual([change?.fields, change?.actor.kind], [['status'], 'service']);
  receiver.acknowledge();
  await project.seedUsers('bob');
  clock.move(3 * HOUR);
  assert.equal(receiver.received.length, 1);
  expectDone(await project.put('/v1/webhooks/w', { status: 'active' }));
  const users = (await receiver.changes(2)).map(({ user }) => user);
  assert.deepEqual(users, ['ada', 'bob']);
  assert.equal(receiver.received[1]?.text, receiver.received[0]?.text);
});

interface UnderWay extends Case {
  respond(code: number): void;
  /** Resolves when the attempt is stored. */
  answer(code: number): Promise<void>;
}

/** A webhook whose first attempt is under way until it is answered. */
async function underWay(): Promise<UnderWay> {
  const { promise, resolve } = Promise.withResolvers<Parameters<Answering>[0]>();
  const [project, receiver] = [await server.project(), closed(await WebhookReceiver.open())];
  receiver.answer = resolve;
  await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
  await project.seedUsers('ada');
  const response = await promise;
  const respond = (code: number) => void response.writeHead(code).end();
  return {
    ...{ project, receiver, respond },
    answer: async (code) => {
      respond(code);
      await recorded({ project, receiver }, 1);
    },
  };
}

test('a webhook that is paused while its receiver answers 410 stays paused, and records no change of the service', async () => {
  const { project, receiver, answer } = await underWay();
  expectDone(await project.put('/v1/webhooks/w', { status: 'paused' }));
  await answer(410);
  assert.equal((await webhook(project, 'w')).status, 'paused');
  const [, change, ...others] = await readChanges(project, 2, { type: 'webhook.*' });
  assert.deepEqual([change?.actor.kind, others], ['project_token', []]);
  receiver.acknowledge();
  expectDone(await project.put('/v1/webhooks/w', { status: 'active' }));
  assert.deepEqual(
    (await receiver.changes(1)).map(({ user }) => user),
    ['ada'],
  );
});

for (const code of [204, 503])
  test(`an attempt that a replay overtakes is among the attempts: its receiver answers ${code}`, async () => {
    const { project, receiver, answer } = await underWay();
    expectDone(await project.post('/v1/webhooks/w/replay', { after: 'latest' }));
    await answer(code);
    const [attempt] = await attempts(project, 'w');
    assert.deepEqual([attempt?.webhook_id, attempt?.status], [receiver.received[0]?.id, code]);
  });

test('an attempt that hangs when a replay overtakes it is ended, and is among the attempts', async () => {
  const { project, receiver } = await underWay();
  expectDone(await project.post('/v1/webhooks/w/replay', { after: 'latest' }));
  await until('the end of the attempt', async () => {
    clock.move(2 * SECOND);
    return (await attempts(project, 'w')).length > 0;
  });
  const [attempt] = await attempts(project, 'w');
  assert.deepEqual(
    [attempt?.webhook_id, attempt?.status, attempt?.error],
    [receiver.received[0]?.id, null, 'the server ended the attempt'],
  );
});

test('a webhook that is created again during an attempt of the one before has none of its attempts', async () => {
  const [first, other] = [await underWay(), await underWay()];
  const { project, receiver } = first;
  expectDone(await project.delete('/v1/webhooks/w'));
  clock.move(1);
  await createWebhook(project, 'w', receiver.url, { status: 'paused' });
  expectDone(await other.project.post('/v1/webhooks/w/replay', { after: 'latest' }));
  first.respond(503);
  await other.answer(503);
  assert.deepEqual(await attempts(project, 'w'), []);
});

for (const code of [410, 503])
  test(`a new url is tried at once when the old one answers ${code} after the update`, async () => {
    const { project, answer } = await underWay();
    const next = closed(await WebhookReceiver.open());
    expectDone(await project.put('/v1/webhooks/w', { url: next.url }));
    await answer(code);
    await next.requests(1);
    assert.equal((await webhook(project, 'w')).status, 'active');
  });

for (const [write, send] of [
  ['new types', ({ project }: Case) => project.put('/v1/webhooks/w', { types: ['user.*', 'group.*'] })],
  ['a new secret', ({ project }: Case) => project.post('/v1/webhooks/w/rotate-secret', {})],
] as const)
  test(`an answer of 410 ends a webhook at once also where it gets ${write} meanwhile`, async () => {
    const each = await underWay();
    assert.equal((await send(each)).status, 200);
    each.receiver.answer = status(410);
    await each.answer(410);
    await until('failing', async () => (await webhook(each.project, 'w')).status === 'failing');
    assert.equal(each.receiver.received.length, 1);
  });

/** The same project with a token of the clock's time: a token is good for a day. */
const renewed = ({ url, id, secret }: Project): Project =>
  closed(new Project(url, id, secret, jwt({ project_id: id, iat: seconds(clock.now()) }, secret)));

test('after 3 days of failures a webhook is failing, and rests until it is set active', async () => {
  const each = await failing(status(302, { location: '/elsewhere' }));
  const { receiver } = each;
  const begin = clock.now();
  let project = renewed(each.project);
  const state = async () => (await webhook(project, 'w')).status;
  for (let requests = 2; (await state()) === 'active'; requests += 1) {
    assert.ok(requests < 50, 'it never rests');
    // Timers do not fire for every second of it.
    clock.jump(2.3 * HOUR);
    clock.move(4 * SECOND);
    project = renewed(project);
    await recorded({ project, receiver }, requests);
  }
  assert.ok(clock.now() - begin >= 72 * HOUR);
  assert.ok(clock.now() - begin < 76 * HOUR);
  const count = receiver.received.length;
  clock.jump(10 * HOUR);
  clock.move(4 * SECOND);
  receiver.acknowledge();
  project = renewed(project);
  expectDone(await project.put('/v1/webhooks/w', { status: 'active' }));
  await receiver.requests(count + 1);
  await until('nothing waits', async () => (await webhook(project, 'w')).behind === 0);
  assert.equal(receiver.received.length, count + 1);
});

test('a delivery is repeated also where the clock is set back meanwhile, and 3 days of failures are no longer', async () => {
  const { receiver, ...each } = await failing(status(500));
  const attemptedAfter = async (ms: number, count: number) => {
    clock.jump(ms);
    clock.move(4 * SECOND);
    const project = renewed(each.project);
    await recorded({ project, receiver }, count);
    return { project, receiver };
  };
  await repeatsAfter(await attemptedAfter(-10 * 24 * HOUR, 2), 30 * SECOND);
  const { project } = await attemptedAfter(72 * HOUR, 4);
  await until('failing', async () => (await webhook(project, 'w')).status === 'failing');
});

test('a new url has the pauses of a new webhook, and 3 days until it is failing', async () => {
  const each = await failing(status(500));
  for (const pause of [5 * SECOND, 30 * SECOND]) await repeatsAfter(each, pause);
  let { project } = each;
  /** Lets so much time pass until the next attempt, and returns the status after it. */
  const stateAfter = async (pauseMs: number, requests: number) => {
    clock.jump(pauseMs);
    clock.move(4 * SECOND);
    project = renewed(project);
    await recorded({ ...each, project }, requests);
    return (await webhook(project, 'w')).status;
  };
  assert.equal(await stateAfter(71 * HOUR, 4), 'active');
  const next = closed(await WebhookReceiver.open());
  next.fail(503);
  expectDone(await project.put('/v1/webhooks/w', { url: next.url }));
  await recorded({ ...each, project }, 5);
  assert.deepEqual([each.receiver.received.length, next.received.length], [4, 1]);
  assert.equal(next.received[0]?.text, each.receiver.received[0]?.text);
  await repeatsAfter({ ...each, project }, 5 * SECOND);
  assert.equal(await stateAfter(2 * HOUR, 7), 'active');
  assert.equal(await stateAfter(72 * HOUR, 8), 'failing');
});

test('a webhook whose changes are not stored any more is 410 when it is set active, until a replay moves it', async () => {
  const each = await failing(status(410));
  const { receiver } = each;
  let { project } = each;
  await until('failing', async () => (await webhook(project, 'w')).status === 'failing');
  await project.seedUsers('bob');
  await readChanges(project, 2, { type: 'user.*' });
  clock.jump(11 * 24 * HOUR);
  project = renewed(project);
  await until('the removal of changes', async () => {
    clock.move(HOUR);
    return (await changesPage(project)).changes.length < 2;
  });
  const active = { status: 'active' };
  expectError(await project.put('/v1/webhooks/w', active), 410, 'invalid_request', 'anew');
  assert.equal((await webhook(project, 'w')).status, 'failing');
  expectDone(await project.post('/v1/webhooks/w/replay', { after: 'latest' }));
  receiver.acknowledge();
  expectDone(await project.put('/v1/webhooks/w', active));
  await project.seedUsers('cid');
  await receiver.requests(2);
  assert.deepEqual(
    receiver.received[1]?.body.changes.map(({ user }) => user),
    ['cid'],
  );
});
