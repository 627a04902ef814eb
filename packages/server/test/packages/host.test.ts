/** The tarballs in the project of a host, without this repository: the server, and all packages together. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { before, describe, test } from 'node:test';
import { headersOfProject, KNOWN, rollcall, withServe } from '../cli/cli-process.ts';
import { fencesOf, ROOT, readPage } from '../docs/markdown.ts';
import { useEveryPart } from '../support/every-part.ts';
import { installPackages } from '../support/packed.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { UNMEASURED } from '../support/programs.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { directoryOfFile } from '../support/temporary-directory.ts';
import { NODES, OLD_NODE } from './nodes.ts';
import { runModule } from './run-module.ts';
import { typeProblems } from './type-problems.ts';

/** The part of a bill of materials that is compared. */
interface Bom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes?: readonly { readonly content: string }[];
    readonly licenses?: readonly object[];
  }[];
}

/** The part of a package-lock.json that it is compared with. */
interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version: string;
  /** Present for a package of this repository: then `resolved` is its folder. */
  readonly link?: true;
  readonly resolved: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const project = directoryOfFile('host');
const launcher = join(project, 'node_modules/.bin/rollcall');

before(async () => {
  const others = ['react', 'react-dom', '@types/react', '@types/react-dom', '@types/node'];
  await installPackages(project, ['server', 'client', 'react'], others);
});

/** An empty folder of the host. */
async function emptyFolder(name: string): Promise<string> {
  const folder = join(project, name);
  await mkdir(folder);
  return folder;
}

/** Serves from the package and loads all of it. The server writes nothing but its log, and ends without an error. */
async function serveFromPackage(node: string, cwd: string, env: Record<string, string>): Promise<void> {
  const options = { program: { node, launcher }, cwd, env: { ...UNMEASURED, ...env } };
  const server = await withServe(
    './data',
    KNOWN,
    async ({ url, process: serving }) => {
      await useEveryPart(url, headersOfProject());
      serving.signal('SIGTERM');
      return serving.ended;
    },
    options,
  );
  assert.equal(server.stderr, '');
  assert.equal(server.code, 0);
}

const withoutServers = skipsPostgres || (await skipsRedis());

test('the bill of materials has every package that the package installs, with locked versions, licences and hashes', async () => {
  const { stdout } = await runModule(process.execPath, ['packages/sbom.ts'], ROOT);
  const bom: Bom = JSON.parse(await readFile(stdout.trim(), 'utf8'));
  assert.deepEqual([bom.bomFormat, bom.specVersion], ['CycloneDX', '1.5']);
  assert.equal(bom.metadata.component.name, '@rollcall/server');
  const { packages: installed }: LockFile = JSON.parse(
    await readFile(join(project, 'package-lock.json'), 'utf8'),
  );
  const reached = new Set(['@rollcall/server']);
  for (const name of reached) {
    const { dependencies, optionalDependencies } = installed[`node_modules/${name}`] ?? assert.fail(name);
    for (const found of Object.keys({ ...dependencies, ...optionalDependencies })) reached.add(found);
  }
  const others = [...reached].filter((name) => !name.startsWith('@rollcall/'));
  assert.ok(others.length > 20);
  const listed = new Map(bom.components.map((component) => [component.name, component]));
  assert.deepEqual(
    others.filter((name) => !listed.has(name)),
    [],
  );
  for (const name of others) {
    assert.match(listed.get(name)?.hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/, name);
    assert.ok(listed.get(name)?.licenses?.length, name);
  }
  const { packages }: LockFile = JSON.parse(readPage('package-lock.json'));
  for (const { name, version } of bom.components) {
    const locked = Object.entries(packages).filter(([path]) => path.endsWith(`node_modules/${name}`));
    const versions = locked.map(([, entry]) => (entry.link ? packages[entry.resolved] : entry)?.version);
    assert.ok(
      versions.includes(version),
      `${name} ${version} is not among ${versions.join()} of the lock file`,
    );
  }
  // What only development needs is left out.
  assert.deepEqual(
    ['typescript', 'publint'].filter((name) => listed.has(name)),
    [],
  );
});

describe('rollcall serve of the installed package', () => {
  for (const { version, node, skip } of NODES) {
    test(`${version}: npx runs rollcall in the folder of the host`, { skip }, async () => {
      const env = {
        PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
        npm_config_local_prefix: project,
      };
      const { stdout } = await runModule('npx', ['--no-install', 'rollcall', '--version'], project, env);
      assert.equal(stdout, `${JSON.parse(readPage('package.json')).version}\n`);
    });

    test(`${version}: rollcall serve of the package works in an empty folder`, { skip }, async () =>
      serveFromPackage(node, await emptyFolder(`embedded-${version}`), {}),
    );

    test(
      `${version}: rollcall serve of the package works on PostgreSQL and Redis`,
      {
        skip: skip || withoutServers,
      },
      () =>
        withDatabase(async (url) =>
          serveFromPackage(node, await emptyFolder(`scale-out-${version}`), {
            ROLLCALL_DATABASE_URL: url,
            ROLLCALL_REDIS_URL: freshRedisUrl(),
          }),
        ),
    );
  }

  test('rollcall serve of the package on Node 20 is exit code 2 and one line that names the Node that is needed', {
    skip: OLD_NODE.skip,
  }, async () => {
    const program = { node: OLD_NODE.node, launcher };
    const { code, stdout, stderr } = await rollcall(['serve'], { program, cwd: project });
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, /^rollcall: Node 24 or later is needed, and this is v20\.[^\n]+\n$/);
  });
});

/** Prints what the host sees of servers in its process; ends by itself after the last one is closed. */
const HOST_PROGRAM = `
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { startRollcall } from '@rollcall/server';
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException', 'unhandledRejection'];
const handlers = () => SIGNALS.map((name) => process.listenerCount(name));
const ours = () => readdirSync(tmpdir()).filter((name) => name.startsWith('rollcall-'));
const before = { handlers: handlers(), folders: ours() };
const [a, b] = await Promise.all([startRollcall(), startRollcall()]);
const during = { handlers: handlers(), folders: ours().length - before.folders.length };
const status = async (server, token, path) => {
  const answer = await fetch(server.url + path, { headers: { authorization: 'Bearer ' + (await token) } });
  return answer.status;
};
const answers = [
  await status(a, a.projectToken(), '/v1/groups'),
  await status(a, b.projectToken(), '/v1/groups'),
  await status(a, a.clientToken('ada', 'g'), '/v1/client/viewer'),
];
const old = await a.projectToken();
a.advance(25 * 60 * 60 * 1000);
answers.push(await status(a, old, '/v1/groups'), await status(a, a.projectToken(), '/v1/groups'));
const failures = [];
for (const environment of [{ ROLLCALL_PROT: '1' }, { ROLLCALL_PORT: 'x' }, { ROLLCALL_PORT: new URL(b.url).port }]) {
  await startRollcall({ environment }).catch((error) => failures.push(error.message));
}
const own = { ROLLCALL_PROJECT_ID: 'tests', ROLLCALL_PROJECT_SECRET: 'a-secret-for-tests' };
const c = await startRollcall({ environment: own });
const project = [c.projectID, c.projectSecret, await status(c, c.projectToken(), '/v1/groups')];
const unset = { ROLLCALL_DATA_DIR: '', ROLLCALL_PORT: '', ROLLCALL_LOG_LEVEL: '', ROLLCALL_CORS_ORIGINS: undefined };
const d = await startRollcall({ environment: unset });
const inTemporaryFolder = ours().length - during.folders - before.folders.length - 1;
for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e20]) {
  try {
    d.advance(ms);
  } catch (error) {
    failures.push(error.message);
  }
}
const afterwards = await status(d, d.projectToken(), '/v1/groups');
await d.close();
await Promise.all([a.close(), a.close(), b[Symbol.asyncDispose](), c.close()]);
const left = ours().filter((name) => !before.folders.includes(name));
const seen = { before: before.handlers, during, answers, failures, project, inTemporaryFolder, afterwards, left };
console.log(JSON.stringify(seen));
`;

describe('startRollcall of the installed package', () => {
  for (const { version, node, skip } of NODES) {
    test(`${version}: the test of docs/testing.md passes in a host`, { skip }, async () => {
      const [{ code = '' } = {}] = fencesOf('docs/testing.md').filter(({ language }) => language === 'js');
      const file = join(project, `presence-${version}.test.mjs`);
      await writeFile(file, code);
      const { stdout } = await runModule(node, ['--test', '--test-reporter=tap', file], project);
      assert.match(stdout, /^# pass 2\n# fail 0$/m);
    });

    test(`${version}: servers run beside each other, are silent, handle no signals, and leave nothing behind`, {
      skip,
    }, async () => {
      const temporary = await emptyFolder(`temporary-${version}`);
      const file = join(project, `host-${version}.mjs`);
      await writeFile(file, HOST_PROGRAM);
      const { stdout, stderr } = await runModule(node, [file], project, { TMPDIR: temporary });
      assert.equal(stderr, '');
      const { before: handlers, during, answers, failures, project: named, ...rest } = JSON.parse(stdout);
      assert.deepEqual(during, { handlers, folders: 2 });
      assert.deepEqual(answers, [200, 401, 401, 401, 200]);
      assert.equal(failures.length, 7);
      assert.match(failures[0], /^ROLLCALL_PROT is not a setting: did you mean ROLLCALL_PORT\?$/);
      assert.match(failures[1], /^ROLLCALL_PORT: expected a whole number/);
      assert.match(failures[2], /^port \d+ of 127\.0\.0\.1 is in use/);
      assert.deepEqual(named, ['tests', 'a-secret-for-tests', 200]);
      for (const failure of failures.slice(3)) assert.match(failure, /^the clock cannot advance by .+ ms$/);
      assert.deepEqual(rest, { inTemporaryFolder: 1, afterwards: 200, left: [] });
    });
  }
});

/** Without JSX, so that it runs as it is. The lines after `@ts-expect-error` must not compile. */
const PROGRAM = `
import { Rollcall, RollcallClient, type PresenceEntry } from '@rollcall/client';
import { signClientToken, signProjectToken } from '@rollcall/client/server';
import { Facepile, type PresentUser, RollcallProvider, useOthers, type UseThread } from '@rollcall/react';
import { type Rollcall as Server, startRollcall, type StartRollcallOptions } from '@rollcall/server';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';

const options: StartRollcallOptions = { environment: { ROLLCALL_PRESENCE_TTL_SECONDS: '60' } };
const server: Server = await startRollcall(options);
const host = new Rollcall({ url: server.url, token: () => server.projectToken() });
await host.batch({ users: [{ id: 'ada', name: 'Ada' }], groups: [{ id: 'docs', name: 'D', members: ['ada'] }] });
await host.presence.put('ada', { groupID: 'docs', location: { page: 'intro' } });
const present: PresenceEntry[] = await host.presence.list({ groupID: 'docs' }).toArray();
const { projectID, projectSecret: secret } = server;
const client = new RollcallClient({
  url: server.url,
  token: () => signClientToken({ projectID, secret, userID: 'ada', groupID: 'docs' }),
});
const { user } = await client.viewer();
function Names() {
  const others: readonly PresentUser[] = useOthers({ location: { page: 'intro' } });
  return createElement('p', null, others.length);
}
const page = [createElement(Names, { key: 1 }), createElement(Facepile, { key: 2, location: { page: 'intro' } })];
const html = renderToString(createElement(RollcallProvider, { client, groupID: 'docs' }, page));
await client.close();
await host.close();
await server.close();
console.log(JSON.stringify({ present, name: user.name, html }));

export const comment = ({ send }: UseThread, name?: string): string =>
  send('Hello', { createThread: name === undefined ? undefined : { name } });

/** Environment variables as they are. */
export const tokenOfHost = (): Promise<string> =>
  signProjectToken({ projectID: process.env.ROLLCALL_PROJECT_ID, secret: process.env.ROLLCALL_PROJECT_SECRET });

export function wrong(): void {
  // @ts-expect-error without a user it would be a token of the whole project
  signClientToken({ projectID, secret, userID: process.env.USER_ID });
  // @ts-expect-error an unknown field of a user
  signClientToken({ projectID, secret, userID: 'ada', userDetails: { full_name: 'Ada' } });
  // @ts-expect-error an unknown option
  startRollcall({ prot: 1 });
  // @ts-expect-error time goes one way, by a number
  server.advance('1');
  // @ts-expect-error a location has text
  useOthers({ location: { page: 1 } });
}
`;

const SETTINGS = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
].map((resolution) => ({
  ...resolution,
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  ...{ target: 'es2022', lib: ['es2022', 'dom'], types: ['node'] },
  outDir: resolution.moduleResolution,
}));

describe('a project that installs all packages', () => {
  let problems: readonly string[];

  before(async () => {
    await writeFile(join(project, 'program.ts'), PROGRAM);
    problems = await typeProblems(project, 'program.ts', SETTINGS);
  });

  for (const [index, { moduleResolution: name }] of SETTINGS.entries()) {
    test(`the types of all packages compile under strict settings with the resolution ${name}`, () =>
      assert.equal(problems[index], ''));

    test(`what the resolution ${name} compiled runs: a server, both clients, and a rendered page`, async () => {
      const { stdout, stderr } = await runModule(process.execPath, [`${name}/program.js`], project);
      assert.equal(stderr, '');
      assert.deepEqual(JSON.parse(stdout), {
        present: [{ id: 'ada', ephemeral: { locations: [{ page: 'intro' }] } }],
        name: 'Ada',
        html: '<p>0</p>',
      });
    });
  }
});
