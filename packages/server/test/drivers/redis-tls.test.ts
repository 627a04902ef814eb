/** The Redis drivers over TLS, with an authority and certificates of the test's own. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { PAGE_1, PresenceScene } from '../contract/presence/presence-scene.ts';
import { closing, openTwo } from '../support/closing.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const openssl = (...args: string[]) => promisify(execFile)('openssl', args);

/** A certificate for 127.0.0.1 that is its own authority. */
async function makeCertificate(dir: string): Promise<{ cert: string; key: string }> {
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  const subject = ['-subj', '/CN=rollcall test', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl('req', '-x509', ...curve, '-days', '2', ...subject, '-keyout', key, '-out', cert);
  return { cert, key };
}

describe('Redis over TLS', { skip: skipsOwnRedis }, () => {
  test('presence, watches and the Broker work with certificates on both sides, and other clients are rejected', async (t) => {
    await using directory = await temporaryDirectory('tls');
    const { cert, key } = await makeCertificate(directory.path);
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    await using redis = await OwnRedis.startTls(...files);
    const host = `rediss://127.0.0.1:${redis.tlsPort}`;
    const url = `${host}?ca=${cert}&cert=${cert}&key=${key}`;

    await using scene = closing(new PresenceScene(await openTwo(() => openRedisPresence({ url }))));
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1);
    await recorder.first(1);
    assert.deepEqual(await scene.ids(), ['ann']);

    const broker = await openRedisBroker({ url });
    t.after(() => broker.close());
    await broker.publish({ type: 'project', projectId: 'p' });

    for (const stranger of [`${host}?ca=${cert}`, host, `redis://127.0.0.1:${redis.tlsPort}`]) {
      await assert.rejects(openRedisPresence({ url: stranger }), StoreUnavailableError);
    }
  });
});
