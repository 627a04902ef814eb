import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { loadSettings, type Settings } from '../../src/config/settings.ts';
import { DataDirectoryError } from '../../src/data-directory.ts';
import { ListenError, start } from '../../src/start.ts';
import type { Store } from '../../src/store/store.ts';
import { openStore } from '../../src/wiring.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { testSettings, withDataDir, withServer } from '../support/server.ts';
import { halfSent } from './half-sent.ts';

const SECRET = 'a secret of sufficient length';
const OTHER_SECRET = 'another secret of sufficient length';
const NOBODY = { customerId: null, customerSecret: null, projectId: null, projectSecret: null };
const withFreshDir = <Result>(use: (dataDir: string) => Promise<Result>) => withDataDir(undefined, use);

/** Starts and stops a server; gives what it announced. */
async function startOnce(dataDir: string, overrides: Partial<Settings>): Promise<string[]> {
  const announced: string[] = [];
  const server = await start(
    { ...loadSettings({}), port: 0, stopDelaySeconds: 0, dataDir, ...overrides },
    { log: pino({ level: 'silent' }), announce: (text) => announced.push(text) },
  );
  await server.close();
  return announced;
}

async function reading<Result>(dataDir: string, read: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openStore({ ...loadSettings({}), dataDir });
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

/** Who owns which projects: `customer: project, project`. */
const owners = (dataDir: string) =>
  reading(dataDir, async (store) => {
    const customers = await store.listCustomers();
    const lines = customers.map(async ({ id }) => {
      const projects = await store.listProjects(id);
      return `${id}: ${projects.map((project) => project.id).join(', ')}`;
    });
    return Promise.all(lines);
  });

const secretOf = (dataDir: string, project: string) =>
  reading(dataDir, async (store) => (await store.findProject(project))?.secret);

describe('the customer and the project of the settings', () => {
  test('are made when they are missing, the project for that customer', () =>
    withFreshDir(async (dataDir) => {
      const both = { customerId: 'c', customerSecret: SECRET, projectId: 'p', projectSecret: SECRET };
      assert.deepEqual(await startOnce(dataDir, both), []);
      assert.deepEqual(await owners(dataDir), ['c: p']);
      await startOnce(dataDir, {
        customerId: 'd',
        customerSecret: SECRET,
        projectId: 'q',
        projectSecret: SECRET,
      });
      assert.deepEqual(await owners(dataDir), ['c: p', 'd: q']);
    }));

  test('keep their secrets when they exist', () =>
    withFreshDir(async (dataDir) => {
      const both = { customerId: 'c', customerSecret: SECRET, projectId: 'p', projectSecret: SECRET };
      await startOnce(dataDir, both);
      await startOnce(dataDir, { ...both, customerSecret: OTHER_SECRET, projectSecret: OTHER_SECRET });
      assert.equal(await secretOf(dataDir, 'p'), SECRET);
      const customer = await reading(dataDir, (store) => store.findCustomer('c'));
      assert.equal(customer?.secret, SECRET);
    }));

  test('a project alone goes to the first customer', () =>
    withFreshDir(async (dataDir) => {
      await startOnce(dataDir, { customerId: 'b', customerSecret: SECRET });
      await startOnce(dataDir, { customerId: 'a', customerSecret: SECRET });
      await startOnce(dataDir, { projectId: 'p', projectSecret: SECRET });
      assert.deepEqual(await owners(dataDir), ['a: p', 'b: ']);
    }));

  test('a project alone on a new store goes to a new customer, and nothing is announced', () =>
    withFreshDir(async (dataDir) => {
      assert.deepEqual(await startOnce(dataDir, { projectId: 'p', projectSecret: SECRET }), []);
      const [only, ...others] = await owners(dataDir);
      assert.match(only ?? '', /^cus_\S+: p$/);
      assert.deepEqual(others, []);
    }));

  test('an ID longer than a name can be gives the name its first 256 characters', () =>
    withFreshDir(async (dataDir) => {
      const id = '🦉'.repeat(320);
      await startOnce(dataDir, {
        customerId: id,
        customerSecret: SECRET,
        projectId: id,
        projectSecret: SECRET,
      });
      assert.deepEqual(await owners(dataDir), [`${id}: ${id}`]);
      const names = await reading(dataDir, async (store) => [
        (await store.findCustomer(id))?.name,
        (await store.findProject(id))?.name,
      ]);
      assert.deepEqual(names, ['🦉'.repeat(256), '🦉'.repeat(256)]);
    }));
});

describe('a first start without settings', () => {
  test('makes one customer with one project and announces their secrets, once', () =>
    withFreshDir(async (dataDir) => {
      const [text = '', ...more] = await startOnce(dataDir, {});
      assert.deepEqual(more, []);
      const [, project = ''] = /project ID +(\S+)/.exec(text) ?? [];
      const [, secret] = /project secret +(\S+)/.exec(text) ?? [];
      assert.equal(await secretOf(dataDir, project), secret);
      assert.equal((await owners(dataDir)).length, 1);
      assert.deepEqual(await startOnce(dataDir, {}), []);
      assert.equal((await owners(dataDir)).length, 1);
    }));

  test('that fails to listen leaves the announcement to the next', () =>
    withServer({}, (running) =>
      withFreshDir(async (dataDir) => {
        const port = Number(new URL(running.url).port);
        await assert.rejects(startOnce(dataDir, { port }), ListenError);
        assert.equal((await startOnce(dataDir, {})).length, 1);
      }),
    ));
});

describe('a start that fails', () => {
  test('at listening gives everything back', () =>
    withServer({}, (running) =>
      withFreshDir(async (dataDir) => {
        const port = Number(new URL(running.url).port);
        await assert.rejects(startOnce(dataDir, { ...NOBODY, port }), ListenError);
        // The directory is free again, for a server that checks what it leaves open.
        await withServer({ dataDir }, async ({ request }) => {
          assert.equal((await request('GET', '/healthz')).status, 200);
        });
      }),
    ));

  test('because the directory is taken leaves the other server alone', () =>
    withServer({}, async ({ dataDir, request }) => {
      await assert.rejects(startOnce(dataDir, {}), DataDirectoryError);
      assert.equal((await request('GET', '/readyz')).status, 200);
    }));
});

test('closing twice is closing once', () =>
  withFreshDir(async (dataDir) => {
    const server = await start(testSettings(dataDir), { log: pino({ level: 'silent' }) });
    await Promise.all([server.close(), server.close()]);
    await server.close();
    await assert.rejects(send(server.url, 'GET', '/healthz'));
  }));

/** What a request to the known project carries. */
const json = () => ({
  authorization: `Bearer ${jwt({ project_id: 'test-project', iat: seconds(Date.now()) }, 'test-project-secret')}`,
  'content-type': 'application/json',
});

test('closing waits no longer than it was told for a request that does not end', () =>
  withFreshDir(async (dataDir) => {
    const server = await start(testSettings(dataDir), { log: pino({ level: 'silent' }), drainMs: 1 });
    const upload = await halfSent(`${server.url}/v1/users/ada`, json(), '{"name": "Ada"}');
    await server.close();
    await assert.rejects(upload.finish());
  }));

test('closing does not wait for connections that are kept alive', { timeout: 20_000 }, () =>
  withFreshDir(async (dataDir) => {
    const drainMs = 2 ** 31 - 1;
    const server = await start(testSettings(dataDir), { log: pino({ level: 'silent' }), drainMs });
    const agent = new Agent({ keepAlive: true });
    await send(server.url, 'GET', '/healthz', { agent });
    const upload = await halfSent(`${server.url}/v1/users/ada`, json(), '{"name": "Ada"}', agent);
    const closed = server.close();
    assert.equal((await upload.finish()).status, 200);
    await closed;
    agent.destroy();
  }),
);
