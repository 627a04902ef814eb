import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { oneServer } from '../support/one-server.ts';
import { until } from '../support/waiting.ts';
import { ALLOWED, createWebhook, WebhookReceiver, webhook } from '../support/webhook-receiver.ts';
import { fencesOf, ROOT } from './markdown.ts';

const PAGE = 'docs/webhooks.md';
const server = oneServer({ settings: { webhooksAllow: ALLOWED } });
const programs = fencesOf(PAGE).filter(({ language }) => language === 'js');
const programOf = (name: string): string =>
  programs.find(({ code }) => code.startsWith(`// ${name}`))?.code ?? assert.fail(`there is ${name}`);

/** Runs `use` with a program of the page as a file from which the packages of this repository are found. */
async function withProgram(name: string, use: (path: string) => Promise<void>): Promise<void> {
  await using directory = await mkdtempDisposable(join(ROOT, 'node_modules/.cache-'));
  const path = join(directory.path, 'program.mjs');
  await writeFile(path, programOf(name));
  await use(path);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

/** What a program has printed so far. */
function printed(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return () => text;
}

const rejectsForgery = async (url: string) => {
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
    'webhook-signature': 'v1,AAAA',
  };
  return (await fetch(url, { method: 'POST', headers, body: '{"changes":[]}' })).status === 401;
};

test('docs/webhooks.md: the receiver with Express verifies deliveries, acknowledges them and applies each once', () =>
  withProgram('express.mjs', async (path) => {
    const project = await server.project();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/rollcall`;
    const secret = await createWebhook(project, 'w', url, { types: ['user.*'], status: 'paused' });
    const env = { PATH: process.env.PATH, PORT: `${port}`, WEBHOOK_SECRET: secret };
    const child = spawn(process.execPath, [path], { env });
    const output = printed(child);
    try {
      await until('the receiver', () => rejectsForgery(url));
      assert.equal((await project.put('/v1/webhooks/w', { status: 'active' })).status, 200);
      await project.seedUsers('ada', 'bob');
      await until('both changes', () => output().includes('user.created bob'));
      await until('nothing waits', async () => (await webhook(project, 'w')).behind === 0);
      assert.equal(output(), 'user.created ada\nuser.created bob\n');
    } finally {
      child.kill();
      await once(child, 'close');
    }
  }));

test('docs/webhooks.md: the route handler of Next.js verifies deliveries, and applies each once', (context) =>
  withProgram('app/rollcall/route.js', async (path) => {
    const [project, receiver] = [await server.project(), await WebhookReceiver.open()];
    context.after(() => receiver.close());
    const lines: string[] = [];
    context.mock.method(console, 'log', (...parts: unknown[]) => void lines.push(parts.join(' ')));
    const { POST } = await import(pathToFileURL(path).href);
    process.env.WEBHOOK_SECRET = await createWebhook(project, 'w', receiver.url, { types: ['user.*'] });
    context.after(() => delete process.env.WEBHOOK_SECRET);
    await project.seedUsers('ada');
    const [delivery = assert.fail('a delivery')] = await receiver.requests(1);
    const request = (text: string) =>
      new Request(receiver.url, {
        method: 'POST',
        headers: delivery.headers as Record<string, string>,
        body: text,
      });
    assert.equal((await POST(request(delivery.text))).status, 204);
    assert.equal((await POST(request(delivery.text))).status, 204);
    assert.equal((await POST(request(delivery.text.replace('ada', 'eve')))).status, 401);
    assert.deepEqual(lines, ['user.created ada']);
  }));
