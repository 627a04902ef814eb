/** The encryption of connections, and the accepted certificates, on a server with a certificate of the test. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { closing } from '../support/closing.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';
import { withClient } from '../support/postgres.ts';

const withoutOpenssl =
  spawnSync('openssl', ['version']).status === 0 ? false : 'there is no openssl in the PATH';

/** An authority, and its certificate for `localhost`; another authority that signed nothing. */
function certify(directory: string): readonly string[] {
  const { uid, gid } = statSync(directory);
  const openssl = (...options: string[]) =>
    execFileSync('openssl', options, { cwd: directory, stdio: 'ignore' });
  const authority = (name: string) =>
    openssl(
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`],
      ...['-keyout', `${name}.key`, '-out', `${name}.crt`],
    );
  authority('ours');
  authority('others');
  openssl(
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE'],
    ...['-CA', 'ours.crt', '-CAkey', 'ours.key', '-keyout', 'server.key', '-out', 'server.crt'],
  );
  for (const file of ['server.key', 'server.crt']) chownSync(join(directory, file), uid, gid);
  return [
    'ssl=on',
    `ssl_cert_file=${join(directory, 'server.crt')}`,
    `ssl_key_file=${join(directory, 'server.key')}`,
  ];
}

describe('encryption', { skip: skipsOwnPostgres || withoutOpenssl }, () => {
  test('encryption of PostgreSQL follows sslmode, and a certificate that does not match is rejected', () =>
    OwnPostgres.with(async (server) => {
      const at = (host: string, parameters: Record<string, string>) =>
        `postgres://postgres@${host}:${server.port}/postgres?${new URLSearchParams(parameters)}`;
      const [ours, others] = [join(server.directory, 'ours.crt'), join(server.directory, 'others.crt')];
      const isEncrypted = (url: string) => encryptionOf(url, server.url);

      assert.equal(await isEncrypted(at('localhost', { sslmode: 'disable' })), false);
      assert.equal(await isEncrypted(at('localhost', {})), false, 'the default on this machine');
      assert.equal(await isEncrypted(at('localhost', { sslmode: 'prefer' })), true);
      assert.equal(await isEncrypted(at('127.0.0.1', { sslmode: 'require' })), true);
      assert.equal(await isEncrypted(at('127.0.0.1', { sslmode: 'verify-ca', sslrootcert: ours })), true);
      assert.equal(await isEncrypted(at('localhost', { sslmode: 'verify-full', sslrootcert: ours })), true);

      for (const url of [
        at('127.0.0.1', { sslmode: 'verify-full', sslrootcert: ours }),
        at('localhost', { sslmode: 'verify-full' }),
        at('localhost', { sslmode: 'verify-ca', sslrootcert: others }),
        at('localhost', { sslmode: 'require', sslrootcert: others }),
        at('localhost', { sslmode: 'verify-full', sslrootcert: '/nowhere.crt' }),
      ]) {
        await assert.rejects(openPostgresStore({ url }), StoreUnavailableError, url);
      }
    }, certify));

  test('encryption that PostgreSQL does not offer is rejected, unless sslmode only prefers it', () =>
    OwnPostgres.with(async (server) => {
      const at = (sslmode: string) =>
        `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=${sslmode}`;
      assert.equal(await encryptionOf(at('prefer'), server.url), false);
      await assert.rejects(openPostgresStore({ url: at('require') }), StoreUnavailableError);
    }));
});

/** Whether a store at the URL speaks TLS, as the server sees it. */
async function encryptionOf(url: string, plainUrl: string): Promise<boolean> {
  await using store = closing(await openPostgresStore({ url: `${url}&application_name=encrypted%3F` }));
  await store.ping();
  const { rows } = await withClient(plainUrl, (client) =>
    client.query(
      `SELECT bool_and(s.ssl) AS encrypted FROM pg_stat_ssl s JOIN pg_stat_activity a ON a.pid = s.pid
       WHERE a.application_name = 'encrypted?'`,
    ),
  );
  return rows[0].encrypted;
}
