/** A whole installation moves to another store, the way docs/operations.md says, and back. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { openStore } from '../../src/wiring.ts';
import { exportText, REAL_ROSTER, rosterSet, syncText } from '../roster/roster-cli.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project, segment } from '../support/project-client.ts';
import { type TestServer, withDataDir, withServer } from '../support/server.ts';
import { rollcall, rollcallOk } from './cli-process.ts';

/** A store by what names it: on the command line and in settings. */
interface Place {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
}

interface Summary {
  readonly dry_run: boolean;
  readonly skipped: number;
  readonly restart_servers: boolean;
  readonly records: Readonly<Record<string, { readonly carried: number; readonly skipped: number }>>;
}

const embedded = (dataDir: string): Place => ({ dataDir, databaseUrl: null });

const flagsOf = (side: 'from' | 'to', { dataDir, databaseUrl }: Place): string[] =>
  databaseUrl === null ? [`--${side}-data-dir`, dataDir] : [`--${side}-database-url`, databaseUrl];

async function migrate(from: Place, to: Place, ...flags: readonly string[]): Promise<Summary> {
  const args = ['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to), '--json', ...flags];
  return JSON.parse(await rollcallOk(args)) as Summary;
}

const serverAt = <Result>({ dataDir, databaseUrl }: Place, use: (server: TestServer) => Promise<Result>) =>
  withServer({ dataDir, settings: { databaseUrl, redisUrl: null } }, use);

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

const withToken = (token: string) => ({ authorization: `Bearer ${token}` });

/** Something of all that an export leaves out, for users and a group that are there. */
async function useService(project: Project, place: Place, group: string, users: readonly string[]) {
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
  // Somebody who is away keeps their place.
  expectDone(await project.put(`/v1/users/${segment(three)}`, { status: 'deleted' }), three);
  const store = await openStore(place);
  try {
    const found = await store.findProject(project.id);
    assert.ok(found);
    const stamp = { now: Date.now(), revision: 'connected' };
    assert.equal(await store.connectGroup(found.key, group, 'T024BE7LD', stamp), true);
  } finally {
    await store.close();
  }
  const [live, revoked] = [await authorize(project), await authorize(project)];
  expectOk(await project.delete('/v1/authorize', withToken(revoked)));
  return { live, revoked };
}

/** What the API tells of all that was carried. */
async function readService(project: Project, group: string, users: readonly string[], tokens: string[]) {
  const presence = new Presence(project);
  const [shown, entries, found] = [
    await project.group(group),
    await presence.everyone(group),
    await presence.page({ location: '{"site":"s"}', partial_match: 'true' }, group),
  ];
  const preferences = users.map((user) => project.get(`/v1/users/${segment(user)}/preferences`));
  const sessions = tokens.map((token) => project.get(`/v1/groups/${segment(group)}`, withToken(token)));
  return {
    connected: shown.connectedToMessenger,
    entries,
    found: found.users,
    preferences: (await Promise.all(preferences)).map(({ text }) => text),
    sessions: (await Promise.all(sessions)).map(({ status, text }) => (status === 200 ? 200 : text)),
  };
}

async function carriedBy(place: Place): Promise<string[]> {
  const store = await openStore(place);
  try {
    const records = (await Array.fromAsync(store.carryOut())).flat();
    return records.map((record) => JSON.stringify(Object.entries(record).sort())).sort();
  } finally {
    await store.close();
  }
}

/** The move as documented: carry, sync what is exported, carry the rest. Both servers run meanwhile. */
async function move(from: Place, to: Place, known: Known): Promise<Summary[]> {
  return serverAt(from, async (source) => {
    const first = await migrate(from, to);
    const exported = await withProject(source, known, (project) => exportText(project));
    await serverAt(to, async (target) => {
      const synced = await withProject(target, known, (project) => syncText(project, exported));
      assert.equal(synced.code, 0, synced.refusals.join('\n'));
    });
    const second = await migrate(from, to);
    await serverAt(to, async (target) => {
      const copied = await withProject(target, known, (project) => exportText(project));
      assert.deepEqual(rosterSet(copied), rosterSet(exported));
    });
    return [first, second];
  });
}

const ROSTER = [
  ...['ann', 'bob', 'cid d/e', '\u{1f600}'].map((id) => ({ type: 'user', id, email: 'x@example.org' })),
  { type: 'group', id: 'g/1', name: 'G', members: ['ann', 'bob', 'cid d/e'] },
  { type: 'group', id: 'h', name: 'H', status: 'deleted', members: ['ann'] },
];
const USERS = ['ann', 'bob', 'cid d/e'];

describe('rollcall migrate-store', () => {
  test('moves an embedded store to another one, whose hosts notice nothing', () =>
    withDataDir(undefined, (directory) =>
      withDataDir(undefined, async (second) => {
        const [from, to] = [embedded(directory), embedded(join(second, 'not yet', 'there'))];
        const before = await serverAt(from, async (server) => {
          const known = await createProject(server);
          return withProject(server, known, async (project) => {
            const text = ROSTER.map((item) => JSON.stringify(item)).join('\n');
            assert.equal((await syncText(project, text)).code, 0);
            const { live, revoked } = await useService(project, from, 'g/1', USERS);
            const read = await readService(project, 'g/1', USERS, [live, revoked]);
            return { known, tokens: [live, revoked], read };
          });
        });
        assert.equal(before.read.sessions[0], 200);
        assert.match(String(before.read.sessions[1]), /expired_access_token/);
        assert.equal(before.read.entries.length, 2, 'the user set deleted is not shown');
        const [first, last] = await move(from, to, before.known);
        assert.deepEqual(first?.records, {
          service_key: { carried: 1, skipped: 0 },
          customers: { carried: 1, skipped: 0 },
          projects: { carried: 2, skipped: 0 },
          sessions: { carried: 2, skipped: 0 },
          preferences: { carried: 0, skipped: 1 },
          workspaces: { carried: 0, skipped: 1 },
          durable_presence: { carried: 0, skipped: 4 },
        });
        assert.deepEqual([first.skipped, first.restart_servers], [6, true]);
        assert.deepEqual([last?.skipped, last?.restart_servers], [0, false]);
        assert.deepEqual(await carriedBy(to), await carriedBy(from));
        const after = await serverAt(to, (server) =>
          withProject(server, before.known, (project) => readService(project, 'g/1', USERS, before.tokens)),
        );
        assert.deepEqual(after, before.read);
      }),
    ));

  test('says in words what was skipped and what to do, and that it can be repeated', () =>
    withMoved(async (from, to) => {
      const args = ['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to)];
      for (let run = 0; run < 2; run += 1) {
        const text = await rollcallOk(args);
        assert.match(text, /^ +carried +skipped\nservice key +1 +0\n/);
        assert.match(text, /\npreferences +0 +1\n/);
        assert.match(text, /\n1 record was skipped: the project, user, group or membership is not in/);
        assert.match(text, /"rollcall export" and "rollcall sync", then run this again\./);
        assert.equal(/Restart servers/.test(text), run === 0);
        assert.match(text, /written to the source store from now on is not carried/);
      }
    }));

  test('a dry run says what would be carried, and makes nothing', () =>
    withMoved(async (from, to) => {
      const counts = { carried: 1, skipped: 0 };
      const expected = {
        ...{ service_key: counts, customers: counts, projects: counts, sessions: counts },
        preferences: { carried: 0, skipped: 1 },
        workspaces: { carried: 0, skipped: 0 },
        durable_presence: { carried: 0, skipped: 0 },
      };
      const dry = await migrate(from, to, '--dry-run');
      assert.deepEqual([dry.dry_run, dry.records], [true, expected]);
      assert.equal(existsSync(to.dataDir), false);
      assert.deepEqual((await migrate(from, to)).records, expected);
      await fillRoster(to);
      const before = await carriedBy(to);
      const again = await migrate(from, to, '--dry-run');
      assert.deepEqual(again.records, { ...expected, preferences: counts });
      assert.deepEqual(await carriedBy(to), before, 'nothing was carried');
      assert.deepEqual((await migrate(from, to)).records, again.records);
      const text = await rollcallOk([
        ...['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to), '--dry-run'],
      ]);
      assert.match(text, /^Dry run: nothing was changed\.\n +to carry +skipped\n/);
    }));

  const SECRET_URL = 'postgres://user:p4ssw0rd@127.0.0.1:1/db';
  test('a URL can be a variable', () =>
    withMoved(async (from) => {
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
    ['an empty directory name', ['--from-data-dir', '', '--to-data-dir', 'b'], /--from-data-dir: expected/],
  ];
  for (const [what, args, complaint] of misuses) {
    test(`${what}: bad usage, with one line and no secret`, () =>
      withDataDir(undefined, async (cwd) => {
        const { code, stdout, stderr } = await rollcall(['migrate-store', ...args], { cwd });
        assert.deepEqual([code, stdout], [2, '']);
        assert.match(stderr, complaint);
        assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
        assert.ok(!stderr.includes('p4ssw0rd'), stderr);
      }));
  }

  test('the same directory by another name is the same store', () =>
    withDataDir(undefined, async (directory) => {
      await makeStore(embedded(join(directory, 'data')));
      await symlink(join(directory, 'data'), join(directory, 'link'));
      const { code, stderr } = await rollcall(
        ['migrate-store', '--from-data-dir', 'data', '--to-data-dir', 'link'],
        { cwd: directory },
      );
      assert.equal(code, 2);
      assert.match(stderr, /both options name/);
    }));

  test('a source that is not there is a failure, and neither store is made', () =>
    withDataDir(undefined, async (cwd) => {
      const args = ['migrate-store', '--from-data-dir', 'nowhere', '--to-data-dir', 'new'];
      const { code, stderr } = await rollcall(args, { cwd });
      assert.equal(code, 1);
      assert.match(stderr, /^rollcall: there is no store in nowhere\n$/);
      assert.deepEqual([existsSync(join(cwd, 'nowhere')), existsSync(join(cwd, 'new'))], [false, false]);
    }));

  test('a database that does not answer is a failure that names no password', () =>
    withMoved(async (from) => {
      const args = ['migrate-store', ...flagsOf('from', from), '--to-database-url', SECRET_URL];
      const { code, stdout, stderr } = await rollcall(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^rollcall: .*127\.0\.0\.1:1/);
      assert.ok(!stderr.includes('p4ssw0rd'), stderr);
    }));
});

describe('rollcall migrate-store between engines', () => {
  const options = { skip: skipsPostgres, timeout: 240_000 };
  test('to PostgreSQL and back again is where it was, with a real roster', options, () =>
    withDatabase((databaseUrl) =>
      withDataDir(undefined, (one) =>
        withDataDir(undefined, async (other) => {
          const [from, between, to] = [embedded(one), { dataDir: other, databaseUrl }, embedded(other)];
          const { known, tokens, group, users, read } = await stockReal(from);
          const summaries = [...(await move(from, between, known)), ...(await move(between, to, known))];
          assert.deepEqual(
            summaries.map(({ skipped }) => skipped),
            [6, 0, 6, 0],
          );
          const carried = await carriedBy(from);
          assert.deepEqual(await carriedBy(between), carried);
          assert.deepEqual(await carriedBy(to), carried);
          for (const place of [between, to]) {
            const found = await serverAt(place, (server) =>
              withProject(server, known, (project) => readService(project, group, users, tokens)),
            );
            assert.deepEqual(found, read);
          }
        }),
      ),
    ),
  );
});

/** Of the real roster all users, the large groups, and some of the small ones: enough for many pieces and pages. */
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

/** One small group of so many is taken. */
const SMALL_GROUPS_STEP = 20;

/** The real roster in a project, and something of everything in one of its groups. */
function stockReal(place: Place) {
  return serverAt(place, async (server) => {
    const known = await createProject(server);
    return withProject(server, known, async (project) => {
      assert.equal((await syncText(project, await partOfRealRoster())).code, 0);
      const group = 'section/python';
      const users = (await project.group(group)).members.slice(0, 3);
      const { live, revoked } = await useService(project, place, group, users);
      const tokens = [live, revoked];
      return { known, tokens, group, users, read: await readService(project, group, users, tokens) };
    });
  });
}

/** A small store, and a place where none is yet. */
function withMoved(use: (from: Place, to: Place) => Promise<void>): Promise<void> {
  return withDataDir(undefined, async (directory) => {
    const from = embedded(join(directory, 'from'));
    await makeStore(from);
    await use(from, embedded(join(directory, 'to')));
  });
}

/** A store with one customer, one project, a session and a user's preferences. */
async function makeStore(place: Place): Promise<void> {
  const store = await openStore(place);
  try {
    await store.serviceKey();
    await store.createCustomer({ id: 'c', secret: 's', name: 'C', createdAt: 1 });
    const project = { id: 'p', customerId: 'c', name: 'P', secret: 's', createdAt: 1 };
    const made = await store.createProject(project);
    assert.ok(made.kind === 'created');
    const { key } = made.project;
    await store.createSession({ id: 's', project: key, expiresAt: 1 });
    await store.putUser(key, 'ann', {}, { now: 1, revision: 'r' });
    await store.putPreferences(key, 'ann', { sendViaEmail: false });
  } finally {
    await store.close();
  }
}

/** Stands for the sync of the one user. */
async function fillRoster(place: Place): Promise<void> {
  const store = await openStore(place);
  try {
    const project = await store.findProject('p');
    assert.ok(project);
    await store.putUser(project.key, 'ann', {}, { now: 1, revision: 'r' });
  } finally {
    await store.close();
  }
}
