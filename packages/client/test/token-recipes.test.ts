import assert from 'node:assert/strict';
import process from 'node:process';
import { after, before, describe, test } from 'node:test';
import { closedAfterTests } from '../../server/test/support/closing.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import { RollcallClient } from '../src/index.ts';
import { Recipes, served } from './support/recipes.ts';

const server = oneServer();
const closed = closedAfterTests();
let recipes: Recipes;

/** The host's session, as in the recipes of docs/backends.md: a cookie with the ID of the user. */
const SESSION = `export const userOf = async ({ headers }) => {
  const id = (headers.get?.('cookie') ?? headers.cookie ?? '').slice(5);
  return id === '' ? null : { id, name: id };
};`;

before(async () => {
  recipes = await Recipes.open(SESSION);
  await server.started;
  const project = await server.project();
  await project.seed({ users: [{ id: 'ada' }] });
  process.env.ROLLCALL_PROJECT_ID = project.id;
  process.env.ROLLCALL_PROJECT_SECRET = project.secret;
});

after(async () => {
  delete process.env.ROLLCALL_PROJECT_ID;
  delete process.env.ROLLCALL_PROJECT_SECRET;
  await recipes.close();
});

const recipe = (containing: string, name?: string) => recipes.import('docs/pages.md', containing, name);

/** A token that a page gets, and what it opens. */
async function opens(token: string): Promise<string> {
  const client = closed(new RollcallClient({ url: server.running.url, token }));
  return (await client.viewer()).user.id;
}

const asAda = { headers: { cookie: 'user=ada' } };

describe('the recipes of docs/pages.md', () => {
  test('with Express, a page gets a client token of the user who is logged in, and otherwise 401', async () => {
    const { app } = await recipe("'express'");
    await served(app, async (host) => {
      const url = `${host}/rollcall-token`;
      const answer = await fetch(url, asAda);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(await opens(await answer.text()), 'ada');
      assert.equal((await fetch(url)).status, 401);
    });
  });

  test('with Next.js, a page gets a client token of the user who is logged in, and otherwise 401', async () => {
    const { GET } = await recipe('export async function GET', 'app/rollcall-token/route.js');
    const url = 'https://app.example.com/rollcall-token';
    const answer = await GET(new Request(url, asAda));
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(await opens(await answer.text()), 'ada');
    assert.equal((await GET(new Request(url))).status, 401);
  });
});
