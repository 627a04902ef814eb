import assert from 'node:assert/strict';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { typeProblems } from '../../server/test/packages/type-problems.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { jwt, seconds } from '../../server/test/support/jwt.ts';
import { installPackages } from '../../server/test/support/packed.ts';
import { withServer } from '../../server/test/support/server.ts';
import { directoryOfFile } from '../../server/test/support/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The directory of a project in which the packed client is installed. */
const project = directoryOfFile('client');
const installed = join(project, 'node_modules/@rollcall/client');

before(() => installPackages(project, ['client']));

test('the package has all files that it imports, and no dependency', async () => {
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  assert.equal(manifest.dependencies, undefined);
  assert.deepEqual(await readdir(join(project, 'node_modules')), ['.package-lock.json', '@rollcall']);
  const top = await readdir(installed);
  assert.deepEqual(top.sort(), ['LICENSE', 'README.md', 'dist', 'docs', 'package.json']);
  for (const file of await readdir(join(installed, 'dist'), { recursive: true })) {
    if (!/\.(js|ts)$/.test(file)) continue;
    assert.match(file, /\.js$|\.d\.ts$/);
    const text = await readFile(join(installed, 'dist', file), 'utf8');
    assert.doesNotMatch(text, /@rollcall\/protocol/, file);
    for (const [, imported = ''] of text.matchAll(/(?:from|import)\s*\(?["']([^"']+)["']/g)) {
      assert.match(imported, /^\.{1,2}\/.*\.js$/, `${file} imports ${imported}`);
      await access(join(installed, 'dist', file, '..', imported));
    }
  }
});

/** A program that uses the types; the lines after `@ts-expect-error` must not compile. */
const TYPED_PROGRAM = `
import { NOBODY, presenceAfter, Rollcall, RollcallClient, RollcallError } from '@rollcall/client';
import type {
  Announcement, ContentNode, Group, Location, Member, Messages, Page, PresenceEvent, PresenceState, ThreadsEvent, User,
  ViewerThread,
} from '@rollcall/client';

import { type Changes, changesOf, type ChangesWatch } from '@rollcall/client/changes';

const rollcall = new Rollcall({ url: 'http://127.0.0.1:8080', token: () => 'a.b.c', fetch, timeoutMs: 1_000 });
export async function host(signal: AbortSignal): Promise<void> {
  const group: Group = await rollcall.groups.get('g', { signal });
  const name: string | null = (await rollcall.users.get(group.members[0] ?? '')).name;
  const page: Page<Member> = await rollcall.groups.members('g').page({ limit: 10 });
  for await (const { id } of rollcall.users.list()) console.log(id.length, name, page.total);
  const write: Partial<Pick<User, 'name'>> = {};
  await rollcall.users.put('ada', { name: undefined, short_name: null });
  await rollcall.batch({ users: [{ id: 'ada' }] }, { dryRun: true });
  const tagged = await rollcall.groups.getIfChanged('g', 'x');
  if (tagged !== null) await rollcall.groups.put('g', { name: write.name ?? 'G' }, { ifMatch: tagged.etag });
  // @ts-expect-error an unknown field
  await rollcall.users.put('ada', { nick: 'A' });
  // @ts-expect-error an unknown status
  await rollcall.groups.put('g', { status: 'gone' });
  // @ts-expect-error the group is required
  await rollcall.presence.put('ada', { location: { page: 'a' } });
}
export async function browser(client: RollcallClient): Promise<PresenceState> {
  const location: Location = { page: 'a' };
  const announcement: Announcement = client.presence.announce({ location });
  announcement.move({ page: 'b' });
  let state = NOBODY;
  for await (const event of client.presence.watch()) {
    state = presenceAfter(state, event);
    if (event.type === 'departed' && event.reason === 'moved') break;
    // @ts-expect-error only of one that departed
    console.log(event.reason);
  }
  return state;
}
export async function conversation(signal: AbortSignal): Promise<ContentNode[]> {
  const messages: Messages = rollcall.threads.messages('t');
  const children = [{ text: 'a', bold: true }];
  const content: ContentNode[] = [{ type: 'link', url: 'https://example.com', children }, { text: 'b' }];
  const { id } = await messages.create({ authorID: 'ada', content, createThread: { groupID: 'g', name: 'T' } });
  const { length } = await messages.append(id, { text: 'c', offset: 1 });
  // @ts-expect-error a link has a url
  await messages.put(id, { content: [{ type: 'link', children }] });
  // @ts-expect-error markdown has exactly one text
  await messages.put(id, { content: [{ type: 'markdown', children: [] }] });
  // @ts-expect-error a group is required
  rollcall.threads.watch();
  for await (const event of messages.watch({ signal })) {
    if (event.type === 'message') return event.message.content;
    // @ts-expect-error only of one that was appended to
    console.log(event.text, length);
  }
  return [];
}
export async function unread(client: RollcallClient): Promise<number> {
  for await (const { unread } of client.threads.list({ resolved: false })) if (unread > 0) return unread;
  // @ts-expect-error a page changes content and deleted alone
  await client.threads.messages('t').put('m', { authorID: 'bob' });
  return 0;
}
export async function followed(): Promise<string[]> {
  const changes: Changes = changesOf(rollcall);
  const watch: ChangesWatch = changes.follow({ after: await changes.latest(), types: ['member.*'] });
  // @ts-expect-error a stream has no limit
  changes.follow({ limit: 1 });
  for await (const { users = [] } of watch) return users;
  return (await changes.users(['ada'])).map(({ id }) => id);
}
export const shown = (event: ThreadsEvent<ViewerThread>) => (event.type === 'thread' ? event.thread.unread : event.type);
export const waits = (error: RollcallError) => (error.code === 'user_not_found' ? null : error.retryAfterMs);
/** Lists that the caller must not change. */
export async function listed(ids: readonly string[], content: readonly ContentNode[]): Promise<void> {
  await rollcall.batch({ users: [{ id: 'ada' }] as const, groups: [{ id: 'g', members: ids }] });
  await rollcall.groups.create({ id: 'g', name: 'G', members: ids });
  await rollcall.groups.put('g', { members: ids });
  await rollcall.groups.changeMembers('g', { add: ids, remove: ids });
  await rollcall.threads.messages('t').create({ authorID: 'ada', content });
  await rollcall.threads.messages('t').put('m', { content });
  await rollcall.webhooks.put('w', { types: ['user.*', 'member.*'] as const });
}
/** A host can export the parts of a client: in its declarations, they have names. */
export const { groups, users, threads, preferences, presence, webhooks, projects, tokens, health } = rollcall;
export const partsOf = ({ presence, threads }: RollcallClient) => ({ presence, threads });
type Kind = 'snapshot' | 'arrived' | 'departed' | 'durable' | 'data' | 'user';
export const kind = (event: PresenceEvent): Kind => event.type;
`;

describe('the types of the package under strict settings', () => {
  const browser = { lib: ['es2022', 'dom'], types: [] };
  const node = { lib: ['es2022'], types: ['node'] };
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const shared = {
    ...strict,
    noEmit: true,
    declaration: true,
    target: 'es2022',
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  const cases = [
    { name: 'a page that is bundled', ...browser, module: 'esnext', moduleResolution: 'bundler' },
    { name: 'a page', ...browser, module: 'nodenext', moduleResolution: 'nodenext' },
    { name: 'Node', ...node, module: 'nodenext', moduleResolution: 'nodenext' },
  ];
  let problems: readonly string[];

  before(async () => {
    await writeFile(join(project, 'typed.ts'), TYPED_PROGRAM);
    const settings = cases.map(({ name, ...platform }) => ({ ...shared, ...platform }));
    problems = await typeProblems(project, 'typed.ts', settings);
  });

  for (const [index, { name }] of cases.entries()) {
    test(`the types of the package compile under strict settings for ${name}`, () =>
      assert.equal(problems[index], ''));
  }
});

/** Serves the installed package, and an empty page that imports it by name. */
async function withPage<Result>(use: (origin: string) => Promise<Result>): Promise<Result> {
  const imports = { '@rollcall/client': '/client/index.js' };
  const page = `<!doctype html><link rel="icon" href="data:,"><script type="importmap">${JSON.stringify({ imports })}</script>`;
  const server = createServer(async ({ url = '' }, response) => {
    if (!url.startsWith('/client/')) return response.setHeader('content-type', 'text/html').end(page);
    const file = await readFile(join(installed, 'dist', url.slice('/client/'.length)));
    return response.setHeader('content-type', 'text/javascript').end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('the package works in Chromium, from another origin', { skip: skipsPages }, async () => {
  await withPage(async (origin) => {
    await withServer({ settings: { corsOrigins: origin } }, async (server) => {
      const { url, projectId, projectSecret } = server;
      const users = [{ id: 'ada', name: 'Ada' }];
      const groups = [{ id: 'g', name: 'G', members: ['ada'] }];
      await server.request('POST', '/v1/batch', { body: { users, groups } });
      const iat = seconds(Date.now());
      const token = jwt({ project_id: projectId, user_id: 'ada', group_id: 'g', iat }, projectSecret);
      const old = jwt(
        { project_id: projectId, user_id: 'ada', group_id: 'g', iat: iat - 90_000 },
        projectSecret,
      );
      await visit(origin, {}, async ({ page, complaints }) => {
        const outcome = await page.evaluate(`(async () => {
          const { NOBODY, presenceAfter, RollcallClient } = await import('@rollcall/client');
          const tokens = ${JSON.stringify([old, token])};
          const client = new RollcallClient({ url: '${url}', token: () => tokens.shift() });
          const { user } = await client.viewer();
          const announcement = client.presence.announce({ location: { page: 'a' } });
          let state = NOBODY;
          const watch = client.presence.watch();
          for await (const event of watch) {
            state = presenceAfter(state, event);
            if (state.has('ada')) break;
          }
          const failed = await client.members('nowhere').toArray().catch(({ code, requestId }) => [code, requestId]);
          // Without a socket, the page loads the module that reads streams over HTTP.
          const withoutSocket = new RollcallClient({ url: '${url}', token: '${token}', socket: false });
          const { value: first } = await withoutSocket.presence.watch().next();
          await withoutSocket.close();
          await client.close();
          return { name: user.name, entry: state.get('ada'), failed, first: first.type, ended: await announcement.ended };
        })()`);
        const { name, entry, failed, first, ended } = outcome as Record<string, unknown>;
        assert.deepEqual(
          [name, entry, first, ended],
          ['Ada', { id: 'ada', ephemeral: { locations: [{ page: 'a' }] } }, 'snapshot', null],
        );
        const [code, requestId] = failed as [string, string];
        assert.equal(code, 'group_not_found');
        assert.match(requestId, /./, 'a page may read the ID of its request');
        // The browser reports each error response: that to the old token, and that to the unknown group.
        assert.equal(complaints.length, 2, complaints.join('\n'));
      });
    });
  });
});
