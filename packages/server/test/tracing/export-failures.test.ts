import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, test } from 'node:test';
import { send } from '../support/http-client.ts';
import { linesOf, OtlpReceiver, stop, withServer } from './otlp-receiver.ts';

const answered = async (url: string, count: number) => {
  for (let n = 0; n < count; n += 1) assert.equal((await send(url, 'GET', '/healthz')).status, 200);
};

/** A port of this machine on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as { port: number };
  await server[Symbol.asyncDispose]();
  return port;
}

/** Each span is a batch of its own. */
const AT_ONCE = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1' };

suite('a receiver of traces that fails', () => {
  test('batches that are rejected are one warning, and the next success is one line', () =>
    OtlpReceiver.with((receiver) =>
      withServer({ ...AT_ONCE, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, async (server) => {
        receiver.answer = (response) => response.writeHead(400).end();
        for (let batch = 1; batch <= 4; batch += 1) {
          await answered(server.url, 1);
          await receiver.until(batch);
        }
        receiver.answer = (response) => response.end('{}');
        await answered(server.url, 1);
        await server.process.output(/traces are exported again/);
        assert.equal(await stop(server), 0);
        const reports = linesOf(server).filter(({ msg }) => /^traces (cannot|are exported)/.test(msg));
        assert.deepEqual(
          reports.map(({ level }) => level),
          [40, 30],
        );
      }),
    ));

  test('a receiver that is away fails no request, and the server stops as always', async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await closedPort()}` };
    await withServer({ ...AT_ONCE, OTEL_EXPORTER_OTLP_TIMEOUT: '100', ...env }, async (server) => {
      await answered(server.url, 10);
      await server.process.output(/traces cannot be exported/);
      await answered(server.url, 10);
      assert.equal(await stop(server), 0);
      assert.equal(linesOf(server).filter(({ level }) => level >= 40).length, 1);
    });
  });

  test('spans that wait for a slow receiver are bounded, and further ones are dropped', () =>
    OtlpReceiver.with((receiver) => {
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_BSP_MAX_QUEUE_SIZE: '5',
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
      };
      return withServer(env, async (server) => {
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        receiver.answer = (response) => void released.then(() => response.end('{}'));
        await answered(server.url, 5);
        await receiver.until(1);
        await answered(server.url, 50);
        release();
        assert.equal(await stop(server), 0);
        assert.equal(receiver.spans.length, 10);
      });
    }));

  test('a server that stops gives up a receiver that does not answer', () =>
    OtlpReceiver.with((receiver) => {
      const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '600000', OTEL_BSP_EXPORT_TIMEOUT: '600000' };
      return withServer({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, async (server) => {
        receiver.answer = () => {};
        await answered(server.url, 1);
        assert.equal(await stop(server), 0);
        assert.equal(receiver.spans.length, 1);
        assert.equal(linesOf(server).at(-1)?.msg, 'stopped');
      });
    }));
});
