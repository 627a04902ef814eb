/** A whole installation moves to another store, the way docs/operations.md says, and back. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { StoreSettings } from '../../src/wiring.ts';
import { exportText, REAL_ROSTER, syncText } from '../roster/roster-cli.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { BY_TEST } from '../support/origin.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project, segment } from '../support/project-client.ts';
import { type TestServer, withDataDir, withServer } from '../support/server.ts';
import { rollcall, rollcallOk } from './cli-process.ts';
import { bringBack, converse, readConversation, withToken } from './migrated-conversation.ts';
import { embedded, exportedBy, flagsOf, makeSmallStore, SMALL_COUNTS, withOpenStore } from './stores.ts';

interface Summary {
  readonly dry_run: boolean;
  readonly records: Readonly<Record<string, number>>;
}

async function migrate(
  from: StoreSettings,
  to: StoreSettings,
  ...flags: readonly string[]
): Promise<Summary> {
  const args = [
    'migrate-store',
    ...flagsOf('from', from),
    ...flagsOf('to', to),
    '--json',
    '--quiet',
    ...flags,
  ];
  return JSON.parse(await rollcallOk(args)) as Summary;
}

const serverAt = <Result>(
  { dataDir, databaseUrl }: StoreSettings,
  use: (server: TestServer) => Promise<Result>,
) => withServer({ dataDir, settings: { databaseUrl, redisUrl: null } }, use);

/** A project as its host knows it, on whatever server it is. */
interface Known {
  readonly id: string;
  readonly secret: string;
}

async function withProject<Result>(
  { url }: TestServer,
  { id, secret }: Known,
  use: (project: Project) => Promise<Result>,
): Promise<Result> {
  const project = new Project(url, id, secret, jwt({ project_id: id, iat: seconds(Date.now()) }, secret));
  try {
    return await use(project);
  } finally {
    project.close();
  }
}

/** A project that only the store knows: no setting of a server makes it. */
async function createProject({ url, customerToken }: TestServer): Promise<Known> {
  const headers = { authorization: `Bearer ${customerToken}`, 'content-type': 'application/json' };
  const made = await send(url, 'POST', '/v1/projects', { headers, body: '{"name":"Acme"}' });
  return made.json<Known>();
}

async function authorize(project: Project): Promise<string> {
  const app = jwt({ app_id: project.id, iat: seconds(Date.now()) }, project.secret);
  const answer = await project.post('/v1/authorize', { signed_app_token: app });
  return expectOk<{ access_token: string }>(answer).access_token;
}

/** Something of all that a roster does not have, for users and a group that exist. */
async function useService(
  project: Project,
  settings: StoreSettings,
  group: string,
  users: readonly string[],
) {
  const [one = '', two = '', three = ''] = users;
  const channels = { key: 'notification_channels', value: { sendViaEmail: false } };
  expectDone(await project.put(`/v1/users/${segment(one)}/preferences`, channels), one);
  const presence = new Presence(project);
  const at = async (user: string, location: Record<string, string>) => {
    const body = { groupID: group, location, durable: true };
    expectDone(await presence.put(user, body), user);
  };
  await at(one, { page: '1', site: 's' });
  await at(one, { page: '2', site: 's' });
  await at(two, { page: '1', 'odd "key"': '\u{1f600}\\' });
  await at(three, { page: '3' });
  expectDone(await project.put(`/v1/users/${segment(three)}`, { status: 'deleted' }), three);
  await withOpenStore(settings, async (store) => {
    const found = await store.projects.find(project.id);
    assert.ok(found);
    const context = { now: Date.now(), revision: 'connected', ...BY_TEST };
    assert.equal((await store.groups.connect(found.key, group, 'T024BE7LD', context)).kind, 'updated');
  });
  await converse(project, group, users);
  const [live, revoked] = [await authorize(project), await authorize(project)];
  expectOk(await project.delete('/v1/authorize', withToken(revoked)));
  return { live, revoked };
}

/** What hosts read of all that was transferred. */
async function readService(project: Project, group: string, users: readonly string[], tokens: string[]) {
  const presence = new Presence(project);
  const preferences = users.map((user) => project.get(`/v1/users/${segment(user)}/preferences`));
  const sessions = tokens.map((token) => project.get(`/v1/groups/${segment(group)}`, withToken(token)));
  const shown = await project.get(`/v1/groups/${segment(group)}`);
  return {
    conversation: await readConversation(project, users),
    roster: await exportText(project),
    group: shown.text,
    etag: shown.headers.etag,
    users: await project.users(),
    entries: await presence.everyone(group),
    found: (await presence.page({ location: '{"site":"s"}', partial_match: 'true' }, group)).users,
    preferences: (await Promise.all(preferences)).map(({ text }) => text),
    sessions: (await Promise.all(sessions)).map(({ status, text }) => (status === 200 ? 200 : text)),
  };
}

const ROSTER = [
  ...['ann', 'bob', 'cid d/e', '\u{1f600}'].map((id) => ({ type: 'user', id, email: 'x@example.org' })),
  { type: 'group', id: 'g/1', name: 'G', members: ['ann', 'bob', 'cid d/e'] },
  { type: 'group', id: 'h', name: 'H', status: 'deleted', members: ['ann'] },
];
const USERS = ['ann', 'bob', 'cid d/e'];

/** A roster in a project, something of everything in one of its groups, and what hosts read of it. */
function stock(settings: StoreSettings, roster: string, group: string, users: readonly string[]) {
  return serverAt(settings, async (server) => {
    const known = await createProject(server);
    return withProject(server, known, async (project) => {
      assert.equal((await syncText(project, roster)).code, 0);
      const { live, revoked } = await useService(project, settings, group, users);
      const tokens = [live, revoked];
      return { known, tokens, read: await readService(project, group, users, tokens) };
    });
  });
}

/** A small store, and a directory without one. */
const withSmallStore = (use: (from: StoreSettings, to: StoreSettings) => Promise<void>): Promise<void> =>
  withDataDir(undefined, async (directory) => {
    const from = embedded(join(directory, 'from'));
    await makeSmallStore(from);
    await use(from, embedded(join(directory, 'not yet', 'to')));
  });

describe('rollcall migrate-store', () => {
  test('migrate-store copies a whole embedded store, and hosts read the same from the new server', () =>
    withDataDir(undefined, async (directory) => {
      const [from, to] = [embedded(join(directory, 'from')), embedded(join(directory, 'not yet', 'to'))];
      const roster = ROSTER.map((item) => JSON.stringify(item)).join('\n');
      const { known, tokens, read } = await stock(from, roster, 'g/1', USERS);
      assert.equal(read.sessions[0], 200);
      assert.match(String(read.sessions[1]), /expired_access_token/);
      assert.equal(read.entries.length, 2, 'the user set deleted is not shown');
      const { records } = await migrate(from, to);
      assert.deepEqual(records, {
        ...{ service_keys: 1, customers: 1, projects: 2, sessions: 2, webhooks: 0, users: 4, groups: 2 },
        ...{ memberships: 4, durable_presence: 4, threads: 2, participants: 2, messages: 3 },
      });
      assert.deepEqual(await exportedBy(to), await exportedBy(from));
      const after = await serverAt(to, (server) =>
        withProject(server, known, async (project) => {
          const found = await readService(project, 'g/1', USERS, tokens);
          assert.equal(await bringBack(project), 'hidden no more');
          return found;
        }),
      );
      assert.deepEqual(after, read);
    }));

  test('migrate-store into a store with a customer is exit code 1 and changes nothing', () =>
    withSmallStore(async (from, to) => {
      await makeSmallStore(to);
      const before = await exportedBy(to);
      for (const flags of [[], ['--dry-run']]) {
        const args = ['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to), ...flags];
        const { code, stdout, stderr } = await rollcall(args);
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, /^rollcall: the embedded store in .* is not empty: name an empty database, or/);
      }
      assert.deepEqual(await exportedBy(to), before);
    }));

  test('migrate-store into the data directory of a running server is exit code 1', () =>
    withSmallStore((from, to) =>
      serverAt(to, async () => {
        const { code, stderr } = await rollcall([
          'migrate-store',
          ...flagsOf('from', from),
          ...flagsOf('to', to),
        ]);
        assert.equal(code, 1);
        assert.match(stderr, /another server uses the data directory/);
      }),
    ));

  test('migrate-store prints a table of the records, and with --dry-run writes nothing', () =>
    withSmallStore(async (from, to) => {
      assert.deepEqual((await migrate(from, to, '--dry-run')).records, SMALL_COUNTS);
      assert.equal(existsSync(to.dataDir), false);
      const args = ['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to)];
      assert.match(
        await rollcallOk([...args, '--dry-run']),
        /^Dry run: nothing was changed\.\nservice keys +1\ncustomers +1\n/,
      );
      assert.match(
        await rollcallOk(args),
        /^service keys +1\ncustomers +1\n(?:.*\n)*webhooks +1\n(?:.*\n)*memberships +1\ndurable presence +0\nthreads +1\nparticipants +1\nmessages +1\n[\d.]+ s\n$/,
      );
      assert.deepEqual(await exportedBy(to), await exportedBy(from));
    }));

  const SECRET_URL = 'postgres://user:p4ssw0rd@127.0.0.1:1/db';
  test('migrate-store reads a database URL from ROLLCALL_TO_DATABASE_URL', () =>
    withSmallStore(async (from) => {
      const env = { ROLLCALL_TO_DATABASE_URL: SECRET_URL };
      const { code, stderr } = await rollcall(['migrate-store', ...flagsOf('from', from)], { env });
      assert.equal(code, 1);
      assert.match(stderr, /127\.0\.0\.1:1/);
    }));

  const misuses: readonly [what: string, args: readonly string[], complaint: RegExp][] = [
    ['no store', [], /--from-data-dir or --from-database-url, not none/],
    ['one store', ['--from-data-dir', 'a'], /--to-data-dir or --to-database-url, not none/],
    [
      'two stores on one side',
      ['--from-data-dir', 'a', '--from-database-url', SECRET_URL, '--to-data-dir', 'b'],
      /not two/,
    ],
    ['the same directory twice', ['--from-data-dir', 'a', '--to-data-dir', './x/../a'], /both options name/],
    [
      'the same database twice',
      [
        ...['--from-database-url', SECRET_URL],
        ...['--to-database-url', 'postgresql://other@localhost:1/db?sslmode=disable'],
      ],
      /both options name PostgreSQL at localhost:1\/db/,
    ],
    [
      'a URL of something else',
      ['--from-data-dir', 'a', '--to-database-url', 'mysql://user:p4ssw0rd@h/db'],
      /--to-database-url: expected a URL that starts with postgres:\/\//,
    ],
    [
      'the same databases twice, of several servers',
      [
        ...['--from-database-url', 'postgres://user:p4ssw0rd@127.0.0.1:1,db-2/db'],
        ...['--to-database-url', 'postgres://user:p4ssw0rd@localhost:1,db-2:5432/db'],
      ],
      /both options name PostgreSQL at localhost:1,db-2:5432\/db/,
    ],
    [
      'a password that is not encoded',
      ['--from-data-dir', 'a', '--to-database-url', 'postgres://user:1/p4ssw0rd@h/db'],
      /--to-database-url: the database URL is wrong: it has an @ after the hosts; .*%2F for \//,
    ],
    ['an empty directory name', ['--from-data-dir', '', '--to-data-dir', 'b'], /--from-data-dir: expected/],
  ];
  for (const [what, args, complaint] of misuses) {
    test(`migrate-store with ${what} is bad usage, with one line and no secret`, () =>
      withDataDir(undefined, async (cwd) => {
        const { code, stdout, stderr } = await rollcall(['migrate-store', ...args], { cwd });
        assert.deepEqual([code, stdout], [2, '']);
        assert.match(stderr, complaint);
        assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
        assert.ok(!stderr.includes('p4ssw0rd'), stderr);
      }));
  }

  test('migrate-store from a directory to the same one by another name is bad usage', () =>
    withSmallStore(async ({ dataDir }) => {
      await symlink(dataDir, `${dataDir}-link`);
      const args = ['migrate-store', '--from-data-dir', dataDir, '--to-data-dir', `${dataDir}-link`];
      const { code, stderr } = await rollcall(args);
      assert.equal(code, 2);
      assert.match(stderr, /both options name/);
    }));

  test('migrate-store from a store that does not exist is exit code 1 and creates no store', () =>
    withDataDir(undefined, async (cwd) => {
      const args = ['migrate-store', '--from-data-dir', 'nowhere', '--to-data-dir', 'new'];
      const { code, stderr } = await rollcall(args, { cwd });
      assert.equal(code, 1);
      assert.match(stderr, /^rollcall: there is no store in nowhere\n$/);
      assert.deepEqual([existsSync(join(cwd, 'nowhere')), existsSync(join(cwd, 'new'))], [false, false]);
    }));

  test('migrate-store to a database that does not answer is exit code 1, and prints no password', () =>
    withSmallStore(async (from) => {
      const args = ['migrate-store', ...flagsOf('from', from), '--to-database-url', SECRET_URL];
      const { code, stdout, stderr } = await rollcall(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^rollcall: .*127\.0\.0\.1:1/);
      assert.ok(!stderr.includes('p4ssw0rd'), stderr);
    }));
});

describe('rollcall migrate-store between engines', () => {
  const options = { skip: skipsPostgres };
  test('a real roster is the same after migrate-store to PostgreSQL and back', options, () =>
    withDatabase((databaseUrl) =>
      withDataDir(undefined, async (directory) => {
        const from = embedded(join(directory, 'one'));
        const between = { dataDir: join(directory, 'none'), databaseUrl };
        const to = embedded(join(directory, 'other'));
        const roster = await partOfRealRoster();
        const group = 'section/python';
        const { known, tokens, read } = await stock(from, roster, group, membersOf(roster, group));
        await migrate(from, between);
        await migrate(between, to);
        const records = await exportedBy(from);
        assert.deepEqual(await exportedBy(between), records);
        assert.deepEqual(await exportedBy(to), records);
        for (const settings of [between, to]) {
          const found = await serverAt(settings, (server) =>
            withProject(server, known, (project) =>
              readService(project, group, membersOf(roster, group), tokens),
            ),
          );
          assert.deepEqual(found, read);
        }
      }),
    ),
  );
});

/** One small group of so many is taken. */
const SMALL_GROUPS_STEP = 20;

/** All users of the real roster, its large groups and some small ones: enough for many batches and pages. */
async function partOfRealRoster(): Promise<string> {
  const lines = gunzipSync(await readFile(REAL_ROSTER))
    .toString()
    .trimEnd()
    .split('\n');
  const isTaken = (line: string, index: number) => {
    const { type, id } = JSON.parse(line) as { type: string; id: string };
    return type === 'user' || id.startsWith('section/') || index % SMALL_GROUPS_STEP === 0;
  };
  return lines.filter(isTaken).join('\n');
}

/** The first members of a group of a roster. */
function membersOf(roster: string, group: string): string[] {
  const line = roster.split('\n').find((text) => text.includes(`"${group}"`)) ?? '{}';
  return (JSON.parse(line) as { members: string[] }).members.toSorted().slice(0, 3);
}
