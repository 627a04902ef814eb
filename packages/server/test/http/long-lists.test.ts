import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { pino } from 'pino';
import type { GroupStore } from '../../src/store/ports/groups.ts';
import type { UserStore } from '../../src/store/ports/users.ts';
import type { Page } from '../../src/values/page.ts';
import type { Engine } from '../../src/wiring.ts';
import { BY_TEST } from '../support/origin.ts';
import { type AppCase, altered, withApp } from './app-case.ts';

const GROUPS = 1_234;

/** The pages of the list that the store gave. */
const watchingPages = (pages: Page[]) => ({
  disturb: ({ store }: Engine) => ({
    store: altered(store, {
      groups: {
        async *listAll(project, request) {
          for await (const page of store.groups.listAll(project, request)) {
            pages.push(page);
            yield page;
          }
        },
      } satisfies Partial<GroupStore>,
    }),
  }),
});

async function fill({ engine, project }: AppCase): Promise<void> {
  const groups = Array.from({ length: GROUPS }, (_, n) => ({ id: `g${n}`, name: `Group ${n}` }));
  for (let start = 0; start < GROUPS; start += 1_000) {
    const body = Buffer.from(JSON.stringify({ groups: groups.slice(start, start + 1_000) }));
    await engine.store.batches.apply(
      project,
      { body, dryRun: false },
      { now: 1, revision: `r${start}`, ...BY_TEST },
    );
  }
}

const ids = (text: string) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id);

suite('a list that is long', () => {
  test('a long list is read in chunks of at most 500 and is one JSON array of all entries', async () => {
    const pages: Page[] = [];
    await withApp(watchingPages(pages), async (appCase) => {
      await fill(appCase);
      const { body } = await appCase.call('GET', '/v1/groups');
      assert.equal(new Set(ids(body)).size, GROUPS);
      assert.ok(body.endsWith(']\n'), 'as one that is sent whole');
      assert.deepEqual(
        pages.map(({ count }) => count),
        [500, 500, 234],
      );
    });
  });

  test('a long list with a limit above a chunk ends at the limit, and Link has the next page', () =>
    withApp({}, async (appCase) => {
      await fill(appCase);
      const first = await appCase.call('GET', '/v1/groups?limit=700');
      assert.equal(ids(first.body).length, 700);
      const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(String(first.headers.link)) ?? [];
      const second = await appCase.call('GET', next);
      assert.equal(ids(second.body).length, GROUPS - 700);
      assert.equal(second.headers.link, undefined);
      assert.equal(new Set([...ids(first.body), ...ids(second.body)]).size, GROUPS);
    }));

  test('a page of users with the largest metadata is read in parts of at most 3 MiB and has every user', async () => {
    const lengths: number[] = [];
    const disturb = ({ store }: Engine) => ({
      store: altered(store, {
        users: {
          async list(project, request) {
            const page = await store.users.list(project, request);
            lengths.push(Buffer.byteLength(page.items));
            return page;
          },
        } satisfies Partial<UserStore>,
      }),
    });
    await withApp({ disturb }, async (appCase) => {
      const metadata = { text: 'x'.repeat(16_384 - '{"text":""}'.length) };
      const users = Array.from({ length: 450 }, (_, n) => ({ id: `u${n}`, metadata }));
      const body = Buffer.from(JSON.stringify({ users }));
      const context = { now: 1, revision: 'r', ...BY_TEST };
      await appCase.engine.store.batches.apply(appCase.project, { body, dryRun: false }, context);
      const answer = await appCase.call('GET', '/v1/users?limit=450');
      const listed = JSON.parse(answer.body) as { users: { id: string }[]; pagination: { token: null } };
      assert.equal(new Set(listed.users.map(({ id }) => id)).size, 450);
      assert.equal(listed.pagination.token, null);
      assert.ok(Math.max(...lengths) <= 3 * 1_024 * 1_024, `bytes of the parts: ${lengths}`);
    });
  });

  test('a long list is not read for a HEAD', async () => {
    const pages: Page[] = [];
    await withApp(watchingPages(pages), async (appCase) => {
      await fill(appCase);
      const { statusCode, body } = await appCase.call('HEAD', '/v1/groups');
      assert.equal(statusCode, 200);
      assert.equal(body, '');
      // A reading that continued in the background would read its next chunk within a few ticks.
      for (let tick = 0; tick < 20; tick += 1) await new Promise(setImmediate);
      assert.equal(pages.length, 1);
    });
  });
});

/** The store, whose second chunk of groups waits for `gate` and then fails. */
const failingSecondChunk = (gate: Promise<void>) => ({
  disturb: ({ store }: Engine) => ({
    store: altered(store, {
      groups: {
        async *listAll(project, request) {
          yield await store.groups.list(project, request);
          await gate;
          throw new Error('the disk is on fire');
        },
      } satisfies Partial<GroupStore>,
    }),
  }),
});

suite('a list that fails', () => {
  test('a list that fails at its first chunk has the status of the failure', async () => {
    const failing = ({ store }: Engine) => ({
      store: altered(store, {
        groups: {
          // biome-ignore lint/correctness/useYield: it fails before its first page
          async *listAll() {
            throw new Error('the disk is on fire');
          },
        } satisfies Partial<GroupStore>,
      }),
    });
    await withApp({ disturb: failing }, async ({ call }) => {
      const { statusCode, body } = await call('GET', '/v1/groups');
      assert.equal(statusCode, 500);
      assert.doesNotMatch(body, /fire/);
    });
  });

  test('a list that fails after its first chunk breaks the connection, never ends as if it were whole, and is logged', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
    await withApp({ ...failingSecondChunk(Promise.resolve()), log }, async (appCase) => {
      await fill(appCase);
      await assert.rejects(overSocket(appCase, '/v1/groups'), { code: 'ECONNRESET' });
      assert.equal(lines.filter((line) => line.includes('an answer broke off')).length, 1);
    });
  });

  test('a client that disconnects within a long list ends the reading', async () => {
    const pages: Page[] = [];
    let isReleased = false;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const disturb = ({ store }: Engine) => ({
      store: altered(store, {
        groups: {
          async *listAll(project, request) {
            try {
              for await (const page of store.groups.listAll(project, request)) {
                pages.push(page);
                if (pages.length > 1) await gate;
                yield page;
              }
            } finally {
              isReleased = true;
            }
          },
        } satisfies Partial<GroupStore>,
      }),
    });
    await withApp({ disturb }, async (appCase) => {
      await fill(appCase);
      await leaveAtFirstPiece(appCase, '/v1/groups');
      release();
      await appCase.app.close();
      assert.equal(pages.length, 2);
      assert.ok(isReleased);
    });
  });
});

/** Starts a request and disconnects at the first piece of its answer; resolves when the server has noticed. */
async function leaveAtFirstPiece(appCase: AppCase, path: string): Promise<void> {
  const port = await listen(appCase);
  const noticed = new Promise<void>((resolve) => {
    appCase.app.server.once('connection', (socket) => socket.once('close', () => resolve()));
  });
  const { authorization } = appCase;
  const sent = request({ host: '127.0.0.1', port, path, headers: { authorization } }, (answer) => {
    answer.once('data', () => sent.destroy());
    answer.on('error', () => {});
  });
  sent.on('error', () => {});
  sent.end();
  await noticed;
}

async function overSocket(appCase: AppCase, path: string): Promise<string> {
  const port = await listen(appCase);
  const { authorization } = appCase;
  return await new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers: { authorization }, agent: false };
    const sent = request(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      answer.on('end', () => resolve(text)).on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function listen({ app }: AppCase): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}
