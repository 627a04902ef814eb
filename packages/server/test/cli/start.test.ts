import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { loadSettings, type Settings } from '../../src/config/settings.ts';
import { DataDirectoryError } from '../../src/data-directory.ts';
import { ListenError, start } from '../../src/start.ts';
import { closing } from '../support/closing.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { testSettings, withDataDir, withServer } from '../support/server.ts';
import { halfSent } from './half-sent.ts';
import { embedded, ownersOf, withOpenStore } from './stores.ts';

const SECRET = 'a secret of sufficient length';
const OTHER_SECRET = 'another secret of sufficient length';
const NO_CREDENTIALS = { customerId: null, customerSecret: null, projectId: null, projectSecret: null };

/** Starts and stops a server; returns its announcement. */
async function startOnce(dataDir: string, overrides: Partial<Settings>): Promise<string[]> {
  const announced: string[] = [];
  const server = await start(
    { ...loadSettings({}), port: 0, stopDelaySeconds: 0, dataDir, ...overrides },
    { log: pino({ level: 'silent' }), print: (text) => announced.push(text) },
  );
  await server.close();
  return announced;
}

const owners = (dataDir: string) => withOpenStore(embedded(dataDir), ownersOf);

const secretOf = (dataDir: string, project: string) =>
  withOpenStore(embedded(dataDir), async (store) => (await store.projects.find(project))?.secret);

describe('the customer and the project of the settings', () => {
  test('the customer and the project of the settings are created when missing, the project for that customer', () =>
    withDataDir(async (dataDir) => {
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

  test('an existing customer and project of the settings retain their secrets', () =>
    withDataDir(async (dataDir) => {
      const both = { customerId: 'c', customerSecret: SECRET, projectId: 'p', projectSecret: SECRET };
      await startOnce(dataDir, both);
      await startOnce(dataDir, { ...both, customerSecret: OTHER_SECRET, projectSecret: OTHER_SECRET });
      assert.equal(await secretOf(dataDir, 'p'), SECRET);
      const customer = await withOpenStore(embedded(dataDir), (store) => store.customers.find('c'));
      assert.equal(customer?.secret, SECRET);
    }));

  test('a project of the settings without a customer belongs to the first customer', () =>
    withDataDir(async (dataDir) => {
      await startOnce(dataDir, { customerId: 'b', customerSecret: SECRET });
      await startOnce(dataDir, { customerId: 'a', customerSecret: SECRET });
      await startOnce(dataDir, { projectId: 'p', projectSecret: SECRET });
      assert.deepEqual(await owners(dataDir), ['a: p', 'b: ']);
    }));

  test('a project of the settings without a customer belongs to a new customer on a new store, and nothing is announced', () =>
    withDataDir(async (dataDir) => {
      assert.deepEqual(await startOnce(dataDir, { projectId: 'p', projectSecret: SECRET }), []);
      const [only, ...others] = await owners(dataDir);
      assert.match(only ?? '', /^cus_\S+: p$/);
      assert.deepEqual(others, []);
    }));

  test('a project whose ID is longer than a name is named by its first 256 characters', () =>
    withDataDir(async (dataDir) => {
      const id = '🦉'.repeat(320);
      await startOnce(dataDir, {
        customerId: id,
        customerSecret: SECRET,
        projectId: id,
        projectSecret: SECRET,
      });
      assert.deepEqual(await owners(dataDir), [`${id}: ${id}`]);
      const names = await withOpenStore(embedded(dataDir), async (store) => [
        (await store.customers.find(id))?.name,
        (await store.projects.find(id))?.name,
      ]);
      assert.deepEqual(names, ['🦉'.repeat(256), '🦉'.repeat(256)]);
    }));
});

describe('a first start without settings', () => {
  test('a first start without settings creates one customer with one project and announces their secrets, once', () =>
    withDataDir(async (dataDir) => {
      const [text = '', ...more] = await startOnce(dataDir, {});
      assert.deepEqual(more, []);
      const [, project = ''] = /project ID +(\S+)/.exec(text) ?? [];
      const [, secret] = /project secret +(\S+)/.exec(text) ?? [];
      assert.equal(await secretOf(dataDir, project), secret);
      assert.equal((await owners(dataDir)).length, 1);
      assert.deepEqual(await startOnce(dataDir, {}), []);
      assert.equal((await owners(dataDir)).length, 1);
    }));

  test('a first start that fails to listen leaves the announcement to the next start', () =>
    withServer({}, (running) =>
      withDataDir(async (dataDir) => {
        const port = Number(new URL(running.url).port);
        await assert.rejects(startOnce(dataDir, { port }), ListenError);
        assert.equal((await startOnce(dataDir, {})).length, 1);
      }),
    ));
});

describe('a start that fails', () => {
  test('a start that fails to listen closes everything that it opened', () =>
    withServer({}, (running) =>
      withDataDir(async (dataDir) => {
        const port = Number(new URL(running.url).port);
        await assert.rejects(startOnce(dataDir, { ...NO_CREDENTIALS, port }), ListenError);
        // The directory is free again, for a server that checks what it leaves open.
        await withServer({ dataDir }, async ({ request }) => {
          assert.equal((await request('GET', '/healthz')).status, 200);
        });
      }),
    ));

  test('a start on a locked data directory leaves the other server alone', () =>
    withServer({}, async ({ dataDir, request }) => {
      await assert.rejects(startOnce(dataDir, {}), DataDirectoryError);
      assert.equal((await request('GET', '/readyz')).status, 200);
    }));
});

test('closing a server twice closes it once', () =>
  withDataDir(async (dataDir) => {
    await using server = closing(await start(testSettings(dataDir), { log: pino({ level: 'silent' }) }));
    await Promise.all([server.close(), server.close()]);
    await server.close();
    await assert.rejects(send(server.url, 'GET', '/healthz'));
  }));

/** The headers of a request to the known project. */
const json = () => ({
  authorization: `Bearer ${jwt({ project_id: 'test-project', iat: seconds(Date.now()) }, 'test-project-secret')}`,
  'content-type': 'application/json',
});

test('closing a server waits for drainMs at most for a request that does not end', () =>
  withDataDir(async (dataDir) => {
    await using server = closing(
      await start(testSettings(dataDir), { log: pino({ level: 'silent' }), drainMs: 1 }),
    );
    const upload = await halfSent(`${server.url}/v1/users/ada`, json(), '{"name": "Ada"}');
    await server.close();
    await assert.rejects(upload.finish());
  }));

test('closing a server does not wait for idle keep-alive connections', () =>
  withDataDir(async (dataDir) => {
    const drainMs = 2 ** 31 - 1;
    await using server = closing(
      await start(testSettings(dataDir), { log: pino({ level: 'silent' }), drainMs }),
    );
    const agent = new Agent({ keepAlive: true });
    await send(server.url, 'GET', '/healthz', { agent });
    const upload = await halfSent(`${server.url}/v1/users/ada`, json(), '{"name": "Ada"}', agent);
    const closed = server.close();
    assert.equal((await upload.finish()).status, 200);
    await closed;
    agent.destroy();
  }));
