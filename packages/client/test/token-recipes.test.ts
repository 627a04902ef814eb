import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { fencesOf, ROOT } from '../../server/test/docs/markdown.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import { RollcallClient } from '../src/index.ts';
import { clientsOfFile } from './support/clients-of-file.ts';

const server = oneServer();
const closed = clientsOfFile();
let directory: string;
let sign: { id: string; secret: string };

/** What the recipes import that is not theirs: the packages of this repository, and the host's session. */
const SESSION =
  "export const userOf = async ({ headers }) => (headers.get?.('cookie') ?? headers.cookie ?? '').slice(5) || null;";
const IMPORTS: Readonly<Record<string, string>> = {
  express: import.meta.resolve('express'),
  '@rollcall/client/server': pathToFileURL(join(ROOT, 'packages/client/src/server/index.ts')).href,
};

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rollcall-recipes-'));
  await writeFile(join(directory, 'package.json'), '{"type": "module"}');
  await writeFile(join(directory, 'session.js'), SESSION);
  await server.started;
  const project = await server.project();
  await project.seed({ users: [{ id: 'ada' }] });
  sign = project;
  process.env.ROLLCALL_PROJECT_ID = sign.id;
  process.env.ROLLCALL_PROJECT_SECRET = sign.secret;
});

after(async () => {
  delete process.env.ROLLCALL_PROJECT_ID;
  delete process.env.ROLLCALL_PROJECT_SECRET;
  await rm(directory, { recursive: true, force: true });
});

/** Imports the recipe of docs/pages.md that contains this text. */
async function recipe(containing: string) {
  const fences = fencesOf('docs/pages.md').filter(({ code }) => code.includes(containing));
  assert.equal(fences.length, 1, containing);
  const code = (fences[0]?.code ?? '').replace(/(?<=from ')[^'.]+(?=')/g, (name) => IMPORTS[name] ?? name);
  const path = join(directory, `${containing.replaceAll(/\W/g, '')}.js`);
  await writeFile(path, code);
  return import(pathToFileURL(path).href);
}

/** A token that a page gets, and what it opens. */
async function opens(token: string): Promise<string> {
  const client = closed(new RollcallClient({ url: server.running.url, token }));
  return (await client.viewer()).user.id;
}

const asAda = { headers: { cookie: 'user=ada' } };

describe('the recipes of docs/pages.md', () => {
  test('with Express, a page gets a client token of the user who is logged in, and otherwise 401', async () => {
    const { app } = await recipe("'express'");
    const host = createServer(app as RequestListener);
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/rollcall-token`;
      const answer = await fetch(url, asAda);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(await opens(await answer.text()), 'ada');
      assert.equal((await fetch(url)).status, 401);
    } finally {
      host.closeAllConnections();
      await new Promise((resolve) => host.close(resolve));
    }
  });

  test('with Next.js, a page gets a client token of the user who is logged in, and otherwise 401', async () => {
    const { GET } = await recipe('export async function GET');
    const url = 'https://app.example.com/rollcall-token';
    const answer = await GET(new Request(url, asAda));
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(await opens(await answer.text()), 'ada');
    assert.equal((await GET(new Request(url))).status, 401);
  });
});
