import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import type { Viewer } from '@rollcall/protocol';
import { send } from '../support/http-client.ts';
import { jwtPart, seconds } from '../support/jwt.ts';
import { LAUNCHER } from '../support/launcher.ts';
import { withDataDir } from '../support/server.ts';
import { suiteResource } from '../support/suite-resource.ts';
import { until } from '../support/waiting.ts';
import {
  CHECKOUT,
  CUSTOMER,
  cleanEnvironment,
  KNOWN,
  PROJECT,
  rollcall,
  rollcallOk,
  type ServeProcess,
  withServe,
} from './cli-process.ts';
import { embedded, makeSmallStore } from './stores.ts';

/** A file that behaves like one on a full disk. */
const FULL_DEVICE = '/dev/full';
const withoutFullDevice = existsSync(FULL_DEVICE) ? false : `this system has no ${FULL_DEVICE}`;

describe('commands beside a running server', () => {
  const running = suiteResource<{ server: ServeProcess; dataDir: string }>((use) =>
    withDataDir((dataDir) => withServe(dataDir, KNOWN, (server) => use({ server, dataDir }))),
  );

  const ok = (...args: string[]) => rollcallOk([...args, '--data-dir', running.value.dataDir]);
  const failing = (...args: string[]) => rollcall([...args, '--data-dir', running.value.dataDir]);
  const get = (path: string, token: string) =>
    send(running.value.server.url, 'GET', path, { headers: { authorization: `Bearer ${token.trim()}` } });

  test('rollcall token prints a token of the only project and nothing else', async () => {
    const token = await ok('token');
    assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    assert.equal((await get('/v1/groups', token)).status, 200);
  });

  test('an output that cannot be written is exit code 1 and one line', { skip: withoutFullDevice }, () => {
    const disk = openSync(FULL_DEVICE, 'w');
    try {
      const args = [LAUNCHER, 'token', '--data-dir', running.value.dataDir];
      const { status, stderr } = spawnSync(process.execPath, args, {
        stdio: ['ignore', disk, 'pipe'],
        env: cleanEnvironment(),
        encoding: 'utf8',
      });
      assert.equal(status, 1);
      assert.match(stderr, /^rollcall: the output cannot be written: ENOSPC.*\n$/);
    } finally {
      closeSync(disk);
    }
  });

  test('rollcall token --app prints an app token that POST /v1/authorize accepts', async () => {
    const signed = (await ok('token', '--app')).trim();
    const answer = await send(running.value.server.url, 'POST', '/v1/authorize', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ signed_app_token: signed }),
    });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await get('/v1/groups', answer.json<{ access_token: string }>().access_token)).status, 200);
  });

  test('rollcall token --user prints a client token of that user, with --group for that group only', async () => {
    const token = (await ok('token')).trim();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const groups = ['a', 'b'].map((id) => ({ id, name: `Name of ${id}`, members: ['ada'] }));
    const body = JSON.stringify({ users: [{ id: 'ada' }], groups });
    assert.equal((await send(running.value.server.url, 'POST', '/v1/batch', { headers, body })).status, 200);
    const viewer = async (...args: string[]) => {
      const answer = await get('/v1/client/viewer', await ok('token', '--user', 'ada', ...args));
      assert.equal(answer.status, 200, answer.text);
      return answer.json<Viewer>().groups.map(({ id }) => id);
    };
    assert.deepEqual(await viewer(), ['a', 'b']);
    assert.deepEqual(await viewer('--group', 'b'), ['b']);
  });

  test('rollcall token --customer prints a customer token that opens /v1/projects', async () => {
    assert.equal((await get('/v1/projects', await ok('token', '--customer'))).status, 200);
    assert.equal((await get('/v1/projects', await ok('token', '--customer', CUSTOMER.id))).status, 200);
  });

  test('rollcall token --ttl-seconds --json prints when the token expires, as its exp claim does', async () => {
    const before = seconds(Date.now());
    const printed = JSON.parse(await ok('token', '--ttl-seconds', '600', '--json'));
    const after = seconds(Date.now());
    assert.deepEqual(Object.keys(printed), ['token', 'kind', 'id', 'expires']);
    assert.equal(printed.kind, 'project');
    assert.equal(printed.id, PROJECT.id);
    const claims = JSON.parse(Buffer.from(printed.token.split('.')[1], 'base64url').toString());
    assert.ok(claims.exp >= before + 600 && claims.exp <= after + 600, String(claims.exp));
    assert.ok(Math.abs(Date.parse(printed.expires) - claims.exp * 1_000) < 1_000);
  });

  test('rollcall token with --project and --secret needs no store', async () => {
    const token = await rollcallOk(['token', '--project', PROJECT.id, '--secret', PROJECT.secret], {
      cwd: '/',
    });
    assert.equal((await get('/v1/groups', token)).status, 200);
    assert.ok(token.startsWith(jwtPart({ alg: 'HS512', typ: 'JWT' })));
  });

  const badUsage: [string, string[], RegExp][] = [
    ['a life above 24 hours', ['token', '--ttl-seconds', '86401'], /from 1 to 86400/],
    ['a secret without an ID', ['token', '--secret', PROJECT.secret], /--secret needs the ID/],
    ['a customer’s project token', ['token', '--customer', '--app'], /--customer goes with none/],
    ['a customer’s client token', ['token', '--customer', '--user', 'u'], /--customer goes with none/],
    ['an app’s client token', ['token', '--app', '--user', 'u'], /--user does not go with --app/],
    ['a group without a user', ['token', '--group', 'g'], /--group needs the --user/],
    ['an ID that is none', ['project', 'rename', 'a\u200bb', 'x'], /an ID of 1 to 320/],
    ['a name that is none', ['project', 'create', ''], /a string of 1 to 256/],
    ['an overlap that is none', ['project', 'rotate-secret', 'x', '--overlap-seconds', '-1'], /whole number/],
    ['a group without its workspace', ['group', 'connect', 'g'], /--workspace/],
    ['deleting without --yes', ['project', 'delete', PROJECT.id], /--yes/],
  ];
  for (const [what, args, line] of badUsage) {
    test(`${what} is bad usage, with exit code 2`, async () => {
      const { code, stdout, stderr } = await failing(...args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, line);
      assert.equal(stdout, '');
    });
  }

  const failures: [string, string[], RegExp][] = [
    ['a token', ['token', '--project', 'nobody'], /there is no project nobody/],
    ['a customer token', ['token', '--customer', 'nobody'], /there is no customer nobody/],
    ['a rename', ['project', 'rename', 'nobody', 'x'], /there is no project nobody/],
    ['a rotation', ['project', 'rotate-secret', 'nobody'], /there is no project nobody/],
    ['a deletion', ['project', 'delete', 'nobody', '--yes'], /there is no project nobody/],
    ['a project', ['project', 'create', 'x', '--customer', 'nobody'], /there is no customer nobody/],
    [
      'a connection',
      ['group', 'connect', 'nobody', '--workspace', 'w'],
      /there is no group nobody in project staging/,
    ],
  ];
  for (const [what, args, line] of failures) {
    test(`${what} of a resource that does not exist fails with exit code 1`, async () => {
      const { code, stdout, stderr } = await failing(...args);
      assert.equal(code, 1, stderr);
      assert.match(stderr, line);
      assert.equal(stdout, '');
    });
  }

  test('a project is created, renamed, rotated and deleted by the command line, and the running server applies it', async () => {
    const created = JSON.parse(await ok('project', 'create', 'Second', '--id', 'second', '--json'));
    assert.deepEqual(Object.keys(created), ['id', 'secret', 'name', 'created_at']);
    const token = await rollcallOk(['token', '--project', 'second', '--secret', created.secret]);
    await until('the token is accepted', async () => (await get('/v1/groups', token)).status === 200);

    const taken = await failing('project', 'create', 'Again', '--id', 'second');
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /the project second already exists/);

    await ok('project', 'rename', 'second', 'Renamed');
    const listed = JSON.parse(await ok('project', 'list', '--json'));
    assert.deepEqual(
      listed.map(({ id, name, customer_id }: Record<string, string>) => [id, name, customer_id]),
      [
        ['second', 'Renamed', CUSTOMER.id],
        [PROJECT.id, PROJECT.id, CUSTOMER.id],
      ],
    );
    assert.ok(!JSON.stringify(listed).includes('secret'));
    const list = ['project', 'list', '--data-dir', running.value.dataDir];
    assert.match(
      await rollcallOk(list, { program: CHECKOUT }),
      /^ID +NAME +CUSTOMER +CREATED\nsecond +Renamed +acme +\S+Z\n/,
    );

    const several = await failing('token');
    assert.equal(several.code, 2);
    assert.match(several.stderr, /there are 2 projects \(second, staging\): choose one with --project/);

    const rotated = JSON.parse(
      await ok('project', 'rotate-secret', 'second', '--overlap-seconds', '0', '--json'),
    );
    assert.deepEqual(Object.keys(rotated), ['secret', 'previous_valid_until']);
    await until('the old secret has ended', async () => (await get('/v1/groups', token)).status === 401);
    const fresh = await ok('token', '--project', 'second');
    assert.equal((await get('/v1/groups', fresh)).status, 200);

    assert.equal(await ok('project', 'delete', 'second', '--yes'), 'deleted project second\n');
    await until('the project has ended', async () =>
      (await get('/v1/groups', fresh)).text.includes('project_not_found'),
    );
  });

  test('rollcall group connect and disconnect set connectedToMessenger', async () => {
    const token = (await ok('token')).trim();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    await send(running.value.server.url, 'PUT', '/v1/groups/g%2F1', { headers, body: '{"name": "G"}' });
    const connected = async () => (await get('/v1/groups/g%2F1', token)).json<Record<string, unknown>>();

    assert.equal(
      await ok('group', 'connect', 'g/1', '--workspace', 'T1'),
      'connected group g/1 to workspace T1\n',
    );
    await until('the group is connected', async () => (await connected()).connectedToMessenger === true);
    assert.equal(await ok('group', 'disconnect', 'g/1'), 'disconnected group g/1\n');
    await until('the group is disconnected', async () => (await connected()).connectedToMessenger === false);
  });

  test('rollcall customer create shows the secret once', async () => {
    const created = JSON.parse(await ok('customer', 'create', 'Other Inc.', '--id', 'other', '--json'));
    assert.deepEqual(Object.keys(created), ['id', 'secret', 'name', 'created_at']);
    const listed = await ok('customer', 'list', '--json');
    assert.deepEqual(
      JSON.parse(listed).map(({ id, name }: Record<string, string>) => [id, name]),
      [
        [CUSTOMER.id, CUSTOMER.id],
        ['other', 'Other Inc.'],
      ],
    );
    assert.ok(!listed.includes(created.secret));
    const again = await failing('customer', 'create', 'Other Inc.', '--id', 'other');
    assert.equal(again.code, 1);
    assert.match(again.stderr, /the customer other already exists/);
    const several = await failing('project', 'create', 'x');
    assert.equal(several.code, 2);
    assert.match(several.stderr, /there are 2 customers \(acme, other\): choose one with --customer/);
  });

  test('rollcall doctor finds nothing wrong with a running server', async () => {
    const checks = JSON.parse(await ok('doctor', '--url', running.value.server.url, '--json'));
    assert.deepEqual(
      checks.map(({ name, outcome }: Record<string, string>) => `${name}: ${outcome}`),
      [
        'Node',
        'clock',
        'data directory',
        'free space',
        'store',
        'server alive',
        'server ready',
        'server clock',
      ].map((name) => `${name}: ok`),
    );
    const args = ['doctor', '--url', running.value.server.url, '--data-dir', running.value.dataDir];
    assert.match(await rollcallOk(args, { program: CHECKOUT }), /^ok {7}Node: /);
  });
});

describe('rollcall config check', () => {
  test('config check shows every setting, its value and its source, but no secret', async () => {
    const { code, stdout, stderr } = await rollcall(['config', 'check', '--port', '9000'], {
      env: { ROLLCALL_PROJECT_ID: 'p', ROLLCALL_PROJECT_SECRET: PROJECT.secret, ROLLCALL_PROT: '1' },
    });
    assert.equal(code, 0);
    assert.match(stdout, /^ROLLCALL_PORT +9000 +flag$/m);
    assert.match(stdout, /^ROLLCALL_PROJECT_ID +p +environment$/m);
    assert.match(stdout, /^ROLLCALL_PROJECT_SECRET +\(set, not shown\) +environment$/m);
    assert.match(stdout, /^ROLLCALL_HOST +127.0.0.1 +default$/m);
    assert.match(stdout, /^ROLLCALL_CUSTOMER_ID +- +default$/m);
    assert.equal(stderr, 'warning: ROLLCALL_PROT is not a setting: did you mean ROLLCALL_PORT?\n');
    assert.ok(!stdout.includes(PROJECT.secret));
  });

  test('config check --json prints the same settings', async () => {
    const { settings, warnings } = JSON.parse(
      await rollcallOk(['config', 'check', '--json', '--port', '9000']),
    );
    assert.deepEqual(settings[1], { name: 'ROLLCALL_PORT', value: 9000, from: 'flag' });
    assert.deepEqual(warnings, []);
  });

  test('config check with a bad setting is exit code 2, with the line of a start', async () => {
    const bad = await rollcall(['config', 'check', '--port', 'x']);
    assert.equal(bad.code, 2);
    assert.equal(bad.stderr, (await rollcall(['serve', '--port', 'x'])).stderr);
    assert.equal((await rollcall(['config', 'check', '--redis-url', 'http://cache'])).code, 2);
  });

  test("config check reads an engine's URL and prints no password", async () => {
    const password = 'hunter2hunter2';
    const wrong = {
      'ROLLCALL_DATABASE_URL: .*sslmode': `postgres://rollcall:${password}@db/rollcall?sslmode=maybe`,
      'ROLLCALL_REDIS_URL: .*timeout_ms': `redis://:${password}@cache?timeout_ms=soon`,
    };
    for (const [expected, url] of Object.entries(wrong)) {
      const variable = expected.slice(0, expected.indexOf(':'));
      for (const command of [['config', 'check'], ['serve']]) {
        const { code, stderr } = await rollcall(command, { env: { [variable]: url } });
        assert.equal(code, 2);
        assert.match(stderr, new RegExp(expected));
        assert.ok(!stderr.includes(password), stderr);
      }
    }
  });
});

describe('rollcall doctor', () => {
  test('rollcall doctor without a store and a server skips both and creates nothing', () =>
    withDataDir(async (parent) => {
      const args = ['doctor', '--json', '--data-dir', join(parent, 'data')];
      const checks = JSON.parse(await rollcallOk(args, { env: { ROLLCALL_PORT: '1' } }));
      assert.deepEqual(
        checks.map(({ name, outcome }: Record<string, string>) => `${name}: ${outcome}`),
        [
          'Node: ok',
          'clock: ok',
          'data directory: ok',
          'free space: ok',
          'store: skipped',
          'server: skipped',
        ],
      );
      assert.deepEqual(readdirSync(parent), []);
    }));

  test('rollcall doctor without the server that it was given is exit code 1, and the message names what to do', () =>
    withDataDir(async (dataDir) => {
      await makeSmallStore(embedded(dataDir));
      const args = ['doctor', '--data-dir', dataDir, '--url', 'http://127.0.0.1:1'];
      const { code, stdout, stderr } = await rollcall(args);
      assert.equal(code, 1);
      assert.match(
        stdout,
        /^failed {3}server: http:\/\/127.0.0.1:1 does not answer: .*\n {9}Start it, or correct --url or ROLLCALL_URL\.$/m,
      );
      assert.match(stdout, /^ok {7}store: undamaged, schema version \d+$/m);
      assert.match(stderr, /^rollcall: 1 of 6 checks failed\n$/);
    }));
});
