/** A project that is deleted while its webhook is delivered. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { pino } from 'pino';
import { closing } from '../support/closing.ts';
import { expectDone } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { until } from '../support/waiting.ts';
import { ALLOWED, createWebhook, WebhookReceiver } from '../support/webhook-receiver.ts';

/** The time in which every process renews its leases. */
const SWEEP_MS = 2_000;

const errors: string[] = [];
const log = pino({ level: 'warn' }, { write: (line) => void errors.push(line) });
const clock = new MovedClock();
const server = oneServer({ clock, log, settings: { webhooksAllow: ALLOWED } });

async function leased(): Promise<number> {
  const { text } = await send(server.running.url, 'GET', '/metrics');
  return Number(/^rollcall_webhooks_leased (\d+)$/m.exec(text)?.[1]);
}

/** A webhook whose delivery the receiver has, while another change waits, and whose project is deleted then. */
async function deletedMeanwhile(use: (response: ServerResponse) => Promise<void>) {
  let response: ServerResponse | undefined;
  await using receiver = closing(await WebhookReceiver.open());
  receiver.answer = (hanging) => {
    response = hanging;
  };
  const project: Project = await server.project();
  await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
  await project.seedUsers('ada');
  // A process that misses the notification finds the change with its next sweep.
  await until('the delivery', () => {
    if (response === undefined) clock.move(SWEEP_MS / 10);
    return response !== undefined;
  });
  assert.equal(await leased(), 1);
  await project.seedUsers('bob');
  const headers = { authorization: `Bearer ${server.customerToken()}` };
  expectDone(await project.delete(`/v1/projects/${project.id}`, headers));
  receiver.acknowledge();
  await use(response as ServerResponse);
  await until('the end of the lease', async () => (await leased()) === 0);
  clock.move(10 * SWEEP_MS);
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(errors, []);
}

test('a webhook whose project is deleted while its receiver hangs is no longer leased, and its attempt ends', () =>
  deletedMeanwhile(async (response) => {
    let isClosed = false;
    response.once('close', () => {
      isClosed = true;
    });
    clock.move(SWEEP_MS);
    await until('the end of the attempt', () => isClosed);
  }));

for (const status of [204, 503, 410])
  test(`a webhook whose project was deleted when its receiver answers ${status} is sent nothing more, and no error is logged`, () =>
    deletedMeanwhile(async (response) => {
      response.writeHead(status).end();
    }));
