import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { closedAfterTests } from '../support/closing.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { until } from '../support/waiting.ts';
import {
  ALLOWED,
  type Attempt,
  attempts,
  createWebhook,
  verify,
  WebhookReceiver,
  webhook,
} from '../support/webhook-receiver.ts';

const server = oneServer({ settings: { webhooksAllow: ALLOWED } });
const closed = closedAfterTests();

const receiving = async (): Promise<WebhookReceiver> => closed(await WebhookReceiver.open());

describe('deliveries to a webhook', () => {
  test('a webhook gets the changes after its creation, as the API reads them, signed as Standard Webhooks requires', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    await project.seedUsers('before');
    const secret = await createWebhook(project, 'w', receiver.url);
    await project.seedUsers('ada', 'bob');
    const changes = await receiver.changes(2);
    const recorded = await readChanges(project, 4);
    assert.deepEqual(changes, recorded.slice(2));
    const [delivery = assert.fail('a delivery')] = receiver.received;
    verify(delivery, secret);
    assert.throws(() => verify({ ...delivery, text: delivery.text.replace('ada', 'eve') }, secret));
    const { type, timestamp, project: id } = delivery.body;
    assert.deepEqual([type, id, new Date(timestamp).toISOString()], ['changes', project.id, timestamp]);
    assert.match(String(delivery.headers['content-type']), /^application\/json/);
    await until('the acknowledgement', async () => (await webhook(project, 'w')).behind === 0);
    const [attempt] = await attempts(project, 'w');
    assert.deepEqual([attempt?.webhook_id, attempt?.status, attempt?.error], [delivery.id, 204, null]);
  });

  test('a delivery has at most 100 changes, and all of them come once and in order', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    await createWebhook(project, 'w', receiver.url);
    await project.seedUsers(...Array.from({ length: 450 }, (_, index) => `u${index}`));
    const changes = await receiver.changes(450);
    const recorded = await readChanges(project, 451);
    assert.deepEqual(changes, recorded.slice(1));
    for (const { body } of receiver.received)
      assert.ok(body.changes.length >= 1 && body.changes.length <= 100);
    const ids = receiver.received.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('a delivery of large changes ends early, and each change still comes once', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    const ids = Array.from({ length: 600 }, (_, index) => `${index}${'é'.repeat(300)}`);
    await project.seed({ users: ids.map((id) => ({ id })) });
    await createWebhook(project, 'w', receiver.url);
    const groups = Array.from({ length: 4 }, (_, index) => ({ id: `g${index}`, name: 'G', members: ids }));
    await project.seed({ groups });
    const changes = await receiver.changes(8);
    assert.deepEqual(changes, (await readChanges(project, 609)).slice(601));
    assert.ok(receiver.received.length >= 4);
  });

  test('types filter the changes of a webhook, and new types count for later changes alone', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    receiver.answer = () => {};
    await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
    await project.seedUsers('ada');
    await receiver.requests(1);
    await project.seed({ users: [{ id: 'bob' }], groups: [{ id: 'g', name: 'G' }] });
    expectDone(await project.put('/v1/webhooks/w', { types: ['group.created'] }));
    await project.seed({ users: [{ id: 'cid' }], groups: [{ id: 'h', name: 'H' }] });
    receiver.acknowledge();
    // Setting it active again makes the delivery that hangs due at once.
    expectDone(await project.put('/v1/webhooks/w', { status: 'paused' }));
    receiver.close();
    const other = await receiving();
    expectDone(await project.put('/v1/webhooks/w', { status: 'active', url: other.url }));
    const changes = await other.changes(3);
    assert.deepEqual(
      changes.map(({ type, user, group }) => [type, user ?? group]),
      [
        ['user.created', 'ada'],
        ['user.created', 'bob'],
        ['group.created', 'h'],
      ],
    );
    assert.equal(other.received[0]?.text, receiver.received[0]?.text);
    assert.equal(other.received[0]?.id, receiver.received[0]?.id);
  });

  test('a paused webhook gets nothing, and goes on where it stopped when it is set active', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
    await project.seedUsers('ada');
    await receiver.changes(1);
    expectDone(await project.put('/v1/webhooks/w', { status: 'paused' }));
    await project.seedUsers('bob');
    await until('a change that waits', async () => (await webhook(project, 'w')).behind === 1);
    expectDone(await project.put('/v1/webhooks/w', { status: 'active' }));
    const users = (await receiver.changes(2)).map(({ user }) => user);
    assert.deepEqual(users, ['ada', 'bob']);
  });

  test('a replay sends changes again under another ID, and latest skips what waits', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    const { next } = await changesPage(project, { after: 'latest' });
    await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
    await project.seedUsers('ada');
    await receiver.requests(1);
    expectDone(await project.post('/v1/webhooks/w/replay', { after: next }));
    const [first, second] = await receiver.requests(2);
    assert.deepEqual(second?.body.changes, first?.body.changes);
    assert.notEqual(second?.id, first?.id);
    receiver.fail(500);
    await project.seedUsers('bob');
    await receiver.requests(3);
    expectDone(await project.post('/v1/webhooks/w/replay', { after: 'latest' }));
    receiver.acknowledge();
    await project.seedUsers('cid');
    assert.deepEqual((await receiver.requests(4))[3]?.body.changes[0]?.user, 'cid');
  });

  test('a deleted webhook gets nothing more', async () => {
    const [project, receiver, other] = [await server.project(), await receiving(), await receiving()];
    await createWebhook(project, 'w', receiver.url);
    expectDone(await project.delete('/v1/webhooks/w'));
    await createWebhook(project, 'v', other.url);
    await project.seedUsers('ada');
    await other.changes(1);
    assert.deepEqual(
      receiver.received.flatMap(({ body }) => body.changes.map(({ type }) => type)).includes('user.created'),
      false,
    );
  });

  test('deliveries are signed with both secrets after a rotation', async () => {
    const [project, receiver] = [await server.project(), await receiving()];
    const secret = await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
    const rotated = expectOk<{ secret: string }>(await project.post('/v1/webhooks/w/rotate-secret', {}));
    await project.seedUsers('ada');
    const [delivery = assert.fail('a delivery')] = await receiver.requests(1);
    verify(delivery, secret);
    verify(delivery, rotated.secret);
  });

  test('a webhook of a deleted project gets nothing more, and the others go on', async () => {
    const [project, survivor] = [await server.project(), await server.project()];
    const [receiver, other] = [await receiving(), await receiving()];
    await createWebhook(project, 'w', receiver.url);
    await createWebhook(survivor, 'w', other.url);
    const headers = { authorization: `Bearer ${server.customerToken()}` };
    expectDone(await project.delete(`/v1/projects/${project.id}`, headers));
    await survivor.seedUsers('ada');
    await other.changes(1);
    assert.equal(receiver.received.length, 0);
  });
});

describe('the test of a webhook', () => {
  let receiver: WebhookReceiver;
  before(async () => {
    receiver = await receiving();
  });

  test('a test is sent at once, signed and without changes, and its attempt is answered and stored', async () => {
    const project = await server.project();
    const secret = await createWebhook(project, 'w', receiver.url, { status: 'paused' });
    receiver.fail(418, {}, `${'x'.repeat(5_000)}`);
    const attempt = expectOk<Attempt>(await project.send('POST', '/v1/webhooks/w/test'));
    assert.deepEqual([attempt.status, attempt.answer], [418, 'x'.repeat(1_024)]);
    assert.match(String(attempt.error), /418/);
    const sent = receiver.received.at(-1) ?? assert.fail('a request');
    verify(sent, secret);
    assert.deepEqual([sent.body.type, sent.body.changes], ['test', []]);
    assert.deepEqual(await attempts(project, 'w'), [attempt]);
    assert.deepEqual((await webhook(project, 'w')).last_attempt, attempt);
    assert.equal((await webhook(project, 'w')).status, 'paused');
  });

  test('100 attempts are stored, the newest first', async () => {
    const project = await server.project();
    await createWebhook(project, 'w', receiver.url, { status: 'paused' });
    receiver.acknowledge();
    const sent: string[] = [];
    for (let count = 0; count < 105; count += 1)
      sent.push(expectOk<Attempt>(await project.post('/v1/webhooks/w/test', {})).webhook_id);
    const listed = await attempts(project, 'w');
    assert.deepEqual(
      listed.map(({ webhook_id: id }) => id),
      sent.toReversed().slice(0, 100),
    );
  });

  test('an answer of 101 is a failure with this status, with and without the headers of an upgrade', async () => {
    const project = await server.project();
    await createWebhook(project, 'w', receiver.url, { status: 'paused' });
    for (const headers of ['', 'connection: upgrade\r\nupgrade: websocket\r\n']) {
      receiver.answer = ({ socket }) =>
        void socket?.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`);
      const attempt = expectOk<Attempt>(await project.post('/v1/webhooks/w/test', {}));
      assert.deepEqual([attempt.status, attempt.error], [101, 'the receiver answered 101']);
    }
  });

  test('an answer whose headers are larger than 16 KiB is a failure', async () => {
    const project = await server.project();
    await createWebhook(project, 'w', receiver.url, { status: 'paused' });
    const answered = async (size: number) => {
      receiver.fail(204, { 'x-large': 'x'.repeat(size) });
      return expectOk<Attempt>(await project.post('/v1/webhooks/w/test', {}));
    };
    assert.equal((await answered(15 * 1_024)).error, null);
    const large = await answered(16 * 1_024);
    assert.deepEqual([large.status, large.error], [null, 'the headers of the answer are larger than 16 KiB']);
  });

  test('redirects are not followed, and an answer of any bytes is stored as text', async () => {
    const project = await server.project();
    await createWebhook(project, 'w', receiver.url, { status: 'paused' });
    receiver.fail(302, { location: receiver.url }, 'a\0b');
    const before = receiver.received.length;
    const attempt = expectOk<Attempt>(await project.post('/v1/webhooks/w/test', {}));
    assert.equal(receiver.received.length, before + 1);
    assert.deepEqual([attempt.status, attempt.answer], [302, 'a\u{fffd}b']);
    receiver.answer = (response) => response.destroy();
    const broken = expectOk<Attempt>(await project.post('/v1/webhooks/w/test', {}));
    assert.deepEqual([broken.status, broken.answer], [null, null]);
    assert.match(String(broken.error), /closed the connection/);
    receiver.answer = (response) => void response.writeHead(200).write('some');
    const dripping = expectOk<Attempt>(await project.post('/v1/webhooks/w/test', {}));
    assert.deepEqual([dripping.status, dripping.error, dripping.answer], [200, null, 'some']);
  });
});
