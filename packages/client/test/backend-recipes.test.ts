import assert from 'node:assert/strict';
import process from 'node:process';
import { after, before, describe, test } from 'node:test';
import { readPage } from '../../server/test/docs/markdown.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import type { Rollcall } from '../src/index.ts';
import { Recipes, served } from './support/recipes.ts';

const PAGE = 'docs/backends.md';
const SETTINGS = ['ROLLCALL_URL', 'ROLLCALL_PROJECT_ID', 'ROLLCALL_PROJECT_SECRET'];

const server = oneServer();
let recipes: Recipes;
let project: Project;
let rollcall: Rollcall;

/** The host's session: a cookie with the name of the user. */
const SESSION = `export const userOf = async ({ headers }) => {
  const name = (headers.get?.('cookie') ?? headers.cookie ?? '').slice(5);
  return name === '' ? null : { id: name.toLowerCase(), name };
};`;

before(async () => {
  recipes = await Recipes.open(SESSION);
  const { url } = await server.started;
  project = await server.project();
  process.env.ROLLCALL_URL = url;
  process.env.ROLLCALL_PROJECT_ID = project.id;
  process.env.ROLLCALL_PROJECT_SECRET = project.secret;
  ({ rollcall } = await recipes.import(PAGE, 'new Rollcall', 'rollcall.js'));
});

after(async () => {
  await rollcall?.close();
  for (const name of SETTINGS) delete process.env[name];
  await recipes.close();
});

const asAda = { headers: { cookie: 'user=Ada' } };

/** Where Next.js has the code of a route, as the page says. */
function routeOf(route: 'join' | 'readers'): string {
  const path = `app/documents/[id]/${route}/route.js`;
  assert.ok(readPage(PAGE).includes(`\`${path}\`:`));
  return path;
}

/** What both recipes answer; `call` sends a request to the host. */
async function expectJoinAndReaders(
  document: string,
  call: (method: string, route: 'join' | 'readers', init?: RequestInit) => Promise<Response>,
): Promise<void> {
  assert.equal((await call('POST', 'join')).status, 401);
  assert.equal((await call('GET', 'readers')).status, 401);
  for (const _time of ['first', 'second']) assert.equal((await call('POST', 'join', asAda)).status, 204);
  assert.deepEqual(await rollcall.groups.members(document).toArray(), [
    { id: 'ada', name: 'Ada', email: null },
  ]);
  assert.deepEqual(await (await call('GET', 'readers', asAda)).json(), []);
  await rollcall.presence.put('ada', { groupID: document, location: { page: 'intro' } });
  assert.deepEqual(await (await call('GET', 'readers', asAda)).json(), ['ada']);
}

describe('the recipes of docs/backends.md', () => {
  test('the file with the connection can be loaded without its variables, as a build of Next.js does', async () => {
    const values = SETTINGS.map((name) => [name, process.env[name]]);
    for (const name of SETTINGS) delete process.env[name];
    try {
      const { rollcall: unused } = await recipes.import(PAGE, 'new Rollcall', 'built/rollcall.js');
      await unused.close();
    } finally {
      Object.assign(process.env, Object.fromEntries(values));
    }
  });

  test('with Express, a group that does not exist is 404, and not the 401 of a user who is not logged in', async (context) => {
    const logged = context.mock.method(console, 'error', () => {});
    const { app } = await recipes.import(PAGE, "'express'");
    await served(app, async (host) => {
      assert.equal((await fetch(`${host}/documents/nowhere/readers`, asAda)).status, 404);
    });
    const [path, code] = logged.mock.calls[0]?.arguments ?? [];
    assert.deepEqual([path, code], ['/documents/nowhere/readers', 'group_not_found']);
  });

  test('with Express, a user joins the group of a document, and its readers are those who are present', async () => {
    const { app } = await recipes.import(PAGE, "'express'");
    await served(app, (host) =>
      expectJoinAndReaders('report', (method, route, init) =>
        fetch(`${host}/documents/report/${route}`, { method, ...init }),
      ),
    );
  });

  test('with Next.js, a user joins the group of a document, and its readers are those who are present', async () => {
    const routes = {
      join: (await recipes.import(PAGE, 'export async function POST', routeOf('join'))).POST,
      readers: (await recipes.import(PAGE, 'export async function GET', routeOf('readers'))).GET,
    };
    await expectJoinAndReaders('plan', (method, route, init) => {
      const request = new Request(`https://app.example.com/documents/plan/${route}`, { method, ...init });
      return routes[route](request, { params: Promise.resolve({ id: 'plan' }) });
    });
  });

  test('notify sends an e-mail to each user who is mentioned, is away and wants it, and to no other', async () => {
    const { notify } = await recipes.import(PAGE, 'export async function notify', 'notify.js');
    const users = ['author', 'away', 'present', 'silent', 'gone'].map((id) => ({ id, name: id }));
    const members = users.map(({ id }) => id);
    await rollcall.batch({ users, groups: [{ id: 'notes', name: 'Notes', members }] });
    await rollcall.presence.put('present', { groupID: 'notes', location: { page: 'intro' } });
    await rollcall.preferences.put('silent', {
      key: 'notification_channels',
      value: { sendViaEmail: false },
    });
    const mentions = [...members.slice(1), 'away'].map((id) => {
      return { type: 'mention' as const, user: { id }, children: [{ text: `@${id} ` }] };
    });
    const { id: thread } = await rollcall.threads.create({ groupID: 'notes', name: 'T' });
    const messages = rollcall.threads.messages(thread);
    const content = [{ type: 'p' as const, children: mentions }];
    const { id: message } = await messages.create({ authorID: 'author', content });
    await rollcall.users.delete('gone');
    const sent: string[][] = [];
    const sendEmail = async (...mail: string[]) => sent.push(mail);
    const change = { type: 'message.created', group: 'notes', thread, message };
    await notify(change, sendEmail);
    assert.deepEqual(sent, [['away', '@away @present @silent @gone @away ']]);
    await messages.delete(message);
    await notify(change, sendEmail);
    await notify({ ...change, type: 'message.updated' }, sendEmail);
    assert.equal(sent.length, 1);
  });
});
