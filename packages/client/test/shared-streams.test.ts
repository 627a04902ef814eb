/** Tabs of one browser profile that share the streams of a scripted server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipsPages } from '../../server/test/pages/chromium.ts';
import { until } from '../../server/test/support/waiting.ts';
import {
  arrived,
  IMPATIENT,
  isOpen,
  type Scene,
  STOP_CLOCK,
  shows,
  snapshot,
  watch,
  withScene,
  write,
} from './support/page-tabs.ts';
import { errorEvent, SOON } from './support/scripted-streams.ts';

/**
 * Opens a tab that reads the stream from the snapshot `e-0`, and one that follows it from another snapshot.
 * @param before runs in both before they watch
 */
async function leadAndFollow({ opened, tab }: Scene, id: string, options = '{}', before = '') {
  const leading = await tab();
  await leading.evaluate(before);
  await watch(leading, options);
  const source = await opened(0);
  write(source, snapshot('e-0'));
  await shows(leading, 'snapshot');
  const following = await tab();
  await following.evaluate(before);
  await watch(following, options);
  write(await opened(1), snapshot(id));
  await shows(following, 'snapshot');
  await isOpen(following);
  return { leading, following, source };
}

describe('a stream that tabs share', { skip: skipsPages }, () => {
  test('a shared stream gives a later tab all events after the offset of its snapshot, and none before it', async () => {
    await withScene(async (scene) => {
      const { following, source } = await leadAndFollow(scene, 'e-4');
      // The server gives the ID of an offset to the last one of its events, and the ID before to the others.
      write(
        source,
        arrived('e-3', 'ada'),
        arrived('e-4', 'bob'),
        arrived('e-4', 'cyd'),
        arrived('e-5', 'dan'),
      );
      await shows(following, 'snapshot', 'arrived bob', 'arrived cyd', 'arrived dan');
    });
  });

  test('a tab of a shared stream ignores what other scripts of the origin send on its channel', async () => {
    await withScene(async (scene) => {
      const { leading, following, source } = await leadAndFollow(scene, 'e-0');
      for (const tab of [leading, following]) {
        await tab.evaluate('window.thrown = [], void (window.onerror = (message) => thrown.push(message))');
        await tab.evaluate(`
          for (const message of [null, 1, 'text', [], {}, { kind: 'other' }, { kind: 'state' }, { kind: 'chunk' },
            { kind: 'chunk', session: 's', chunk: {} }, { kind: 'chunk', session: 's', chunk: { messages: [null], lastId: '' } }])
            new BroadcastChannel(channels[0]).postMessage(message);
        `);
      }
      write(source, arrived('e-1', 'bob'));
      for (const tab of [leading, following]) {
        await shows(tab, 'snapshot', 'arrived bob');
        assert.deepEqual(await tab.evaluate('[thrown, retries, client.status.get().state]'), [
          [],
          [],
          'open',
        ]);
      }
      assert.equal(scene.streams.length, 2);
    });
  });

  test('a stream that opens with the token of another user, after the one before was rejected, is not shared with tabs of that one', async () => {
    await withScene(async ({ opened, tab }) => {
      const leading = await tab();
      const token = String(new URL(leading.url()).searchParams.get('token'));
      const [head = '', claims = ''] = token.split('.');
      const others = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: 'other' };
      const other = `${head}.${Buffer.from(JSON.stringify(others)).toString('base64url')}.c`;
      await leading.route('**/v1/**', async (route) => {
        const isRejected = route.request().headers().authorization === `Bearer ${token}`;
        if (!isRejected) return route.continue();
        const headers = { 'access-control-allow-origin': '*' };
        return route.fulfill({
          status: 401,
          headers,
          json: { error: 'expired_access_token', message: 'it ended' },
        });
      });
      await leading.evaluate(`import('/client.js').then(({ RollcallClient }) => {
        const tokens = ['${token}'];
        const token = () => tokens.pop() ?? '${other}';
        window.client = new RollcallClient({ url: client.transport.base, token, socket: false });
      })`);
      await watch(leading);
      await opened(0);
      await leading.waitForFunction('channels.length === 2');
      const sources = [await opened(1)];
      const following = await tab();
      await watch(following);
      sources.push(await opened(2));
      for (const [index, source] of sources.entries())
        write(source, snapshot('e-0'), arrived('e-1', `${index}`));
      await shows(leading, 'snapshot', 'arrived 0');
      await shows(following, 'snapshot', 'arrived 1');
    });
  });

  test('a tab of a shared stream can wait for another watch while it handles a snapshot', async () => {
    await withScene(async (scene) => {
      const { opened, tab, streams } = scene;
      const leading = await tab();
      await watch(leading);
      write(await opened(0), snapshot('e-0'));
      await leading.evaluate('void watch(client.threads)');
      write(await opened(1), snapshot('e-0'));
      await shows(leading, 'snapshot', 'snapshot');
      const following = await tab();
      await following.evaluate(
        "void watch(client.presence, async ({ type }) => { if (type === 'snapshot') await client.threads.watch().next(); events.push('both'); })",
      );
      write(await opened(2), snapshot('e-0'));
      write(await opened(3), snapshot('e-0'));
      await shows(following, 'snapshot', 'both');
      assert.match(String(streams[3]?.url), /threads/);
    });
  });

  test('a shared stream is read by another tab when its reading tab is suspended, and that tab follows when it resumes', async () => {
    await withScene(async (scene) => {
      const { leading, following } = await leadAndFollow(scene, 'e-0', IMPATIENT, STOP_CLOCK);
      await leading.evaluate('void setTimeout(suspend)');
      await following.evaluate('void (now += 500)');
      await following.waitForFunction('retries.length > 0');
      assert.equal(await following.evaluate('retries[0].code'), 'timeout');
      const next = await scene.opened(2);
      assert.equal(next.headers['last-event-id'], 'e-0');
      write(next, arrived('e-1', 'bob'));
      await shows(following, 'snapshot', 'arrived bob');
      scene.resume();
      write(await scene.opened(3), snapshot('e-1'));
      await shows(leading, 'snapshot', 'snapshot');
      write(next, arrived('e-2', 'cyd'));
      await shows(leading, 'snapshot', 'snapshot', 'arrived cyd');
      await shows(following, 'snapshot', 'arrived bob', 'arrived cyd');
      assert.equal(await leading.evaluate('retries[0].message'), 'another tab reads the stream now');
      assert.equal(scene.streams.length, 4);
    });
  });

  test('a shared stream stays open in all of its tabs as long as the server sends heartbeats', async () => {
    await withScene(async (scene) => {
      const { leading, following, source } = await leadAndFollow(scene, 'e-0', IMPATIENT, STOP_CLOCK);
      for (const heartbeat of [1, 2, 3]) {
        const messages = await following.evaluate<number>('messages');
        write(source, ':\n\n');
        await following.waitForFunction(`messages > ${messages}`);
        for (const tab of [leading, following]) {
          const checks = await tab.evaluate<number>('now += 300, checks');
          // The connection is checked, and the stream.
          await tab.waitForFunction(`checks > ${checks} + 3`);
          assert.deepEqual(await tab.evaluate('retries'), [], `after heartbeat ${heartbeat}`);
        }
      }
      assert.equal(scene.streams.length, 2);
    });
  });

  test('a tab that takes over a shared stream resumes after the ID of the last heartbeat', async () => {
    await withScene(async (scene) => {
      const { leading, following, source } = await leadAndFollow(scene, 'e-0');
      const messages = await following.evaluate<number>('messages');
      write(source, ':\nid: e-7\n\n');
      await following.waitForFunction(`messages > ${messages}`);
      await leading.close();
      const next = await scene.opened(2);
      assert.equal(next.headers['last-event-id'], 'e-7');
    });
  });

  test('a watch that ends while its tab begins to read a shared stream leaves the stream to other tabs', async () => {
    await withScene(async ({ opened, tab }) => {
      const ending = await tab();
      await ending.evaluate(`
        const stop = new AbortController();
        const { request } = LockManager.prototype;
        LockManager.prototype.request = function (...lock) {
          stop.abort();
          return request.apply(this, lock);
        };
        watch(client.presence, undefined, { signal: stop.signal });
      `);
      const other = await tab();
      await watch(other);
      write(await opened(0), snapshot('e-0'));
      await shows(other, 'snapshot');
      await isOpen(other);
      assert.deepEqual(await other.evaluate('retries'), []);
    });
  });

  test('a tab of a shared stream is not open before it has its snapshot', async () => {
    await withScene(async (scene) => {
      const { following } = await leadAndFollow(scene, 'e-0');
      const third = await scene.tab();
      await watch(third);
      const source = await scene.opened(2);
      // The tab that reads the stream answers all of them.
      await following.evaluate("new BroadcastChannel(channels[0]).postMessage({ kind: 'question' })");
      await third.waitForFunction('messages >= 2');
      assert.equal(await third.evaluate('client.status.get().state'), 'connecting');
      write(source, snapshot('e-0'));
      await isOpen(third);
    });
  });

  test('a tab that follows a shared stream calls onOpen once, although other tabs begin to follow it', async () => {
    await withScene(async (scene) => {
      const options = '{ onOpen: () => opens.push(events.length) }';
      const { following, source } = await leadAndFollow(scene, 'e-0', options, 'void (window.opens = [])');
      const third = await scene.tab();
      await watch(third);
      write(await scene.opened(2), snapshot('e-0'));
      await isOpen(third);
      write(source, arrived('e-1', 'bob'));
      await shows(following, 'snapshot', 'arrived bob');
      assert.deepEqual(await following.evaluate('opens'), [1]);
    });
  });

  test('a shared stream gives all of its tabs the delay that the server sets for reconnecting', async () => {
    await withScene(async (scene) => {
      const { leading, following, source } = await leadAndFollow(scene, 'e-0');
      const tabs = [leading, following];
      write(source, SOON, arrived('e-1', 'bob'));
      for (const tab of tabs) await shows(tab, 'snapshot', 'arrived bob');
      // The following tab gets the error of the stream, or has its lock before, and then the error of a stream of its own.
      await until('both tabs have got an error', async () => {
        for (const open of scene.streams) if (!open.response.destroyed) write(open, errorEvent('error'));
        const retries = await Promise.all(tabs.map((tab) => tab.evaluate<number>('retries.length')));
        return !retries.includes(0);
      });
      for (const tab of tabs) {
        const { code, delayMs } = await tab.evaluate<{ code: string; delayMs: number }>('retries[0]');
        assert.equal(code, 'error');
        assert.ok(delayMs <= 4, `${delayMs} ms`);
      }
    });
  });
});
