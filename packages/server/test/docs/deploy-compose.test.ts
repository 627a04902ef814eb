/** Compares compose.yaml with the program, without Docker. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { SETTINGS } from '../../src/config/setting-definitions.ts';
import { type Environment, loadSettings } from '../../src/config/settings.ts';
import { unknownVariables } from '../../src/config/unknown-variables.ts';
import { withDataDir } from '../support/server.ts';
import { imageEnvironment } from './dockerfile.ts';
import { ROOT, readPage } from './markdown.ts';

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Runs make-env.sh in an empty folder and returns the file that it wrote. */
async function madeEnvironment(): Promise<Record<string, string>> {
  return await withDataDir(async (directory) => {
    mkdirSync(join(directory, 'deploy'));
    const script = join(directory, 'deploy/make-env.sh');
    copyFileSync(join(ROOT, 'deploy/make-env.sh'), script);
    execFileSync('sh', [script]);
    const file = join(directory, 'deploy/.env');
    const text = readFileSync(file, 'utf8');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    execFileSync('sh', [script]);
    assert.equal(readFileSync(file, 'utf8'), text, 'a second run changed the secrets');
    return Object.fromEntries(
      text
        .trim()
        .split('\n')
        .map((line) => line.split('=')),
    );
  });
}

/** Interpolates as Compose does: `${NAME}`, `${NAME:-otherwise}`, `${NAME:?message}`, and `$$` for one `$`. */
function interpolated(text: string, environment: Environment): string {
  return text.replace(/\$(?:\$|\{(\w+)(?::([-?])([^}]*))?\})/g, (whole, name, kind, rest) => {
    if (whole === '$$') return '$';
    const value = environment[name];
    if (value !== undefined && value !== '') return value;
    assert.ok(kind !== '?', `${name}: ${rest}`);
    return kind === '-' ? rest : '';
  });
}

async function readCompose(): Promise<Compose> {
  const text = interpolated(readPage('deploy/compose.yaml'), await madeEnvironment());
  return parse(text, { merge: true }) as Compose;
}

describe('deploy/compose.yaml, with the secrets that make-env.sh makes', () => {
  test('deploy/compose.yaml starts two Rollcalls with existing settings, on the servers beside them', async () => {
    const { services } = await readCompose();
    const { postgres, valkey, ...rollcalls } = services;
    assert.ok(postgres !== undefined && valkey !== undefined);
    assert.equal(Object.keys(rollcalls).length, 2);
    for (const { environment, build } of Object.values(rollcalls)) {
      assert.deepEqual(unknownVariables(environment), []);
      const settings = loadSettings({ ...imageEnvironment(), ...environment });
      const database = new URL(settings.databaseUrl as string);
      assert.equal(database.hostname, 'postgres');
      assert.deepEqual(postgres.environment, {
        POSTGRES_USER: database.username,
        POSTGRES_DB: database.pathname.slice(1),
        POSTGRES_PASSWORD: database.password,
      });
      const redis = new URL(settings.redisUrl as string);
      assert.equal(redis.hostname, 'valkey');
      assert.equal(valkey.command?.[valkey.command.indexOf('--requirepass') + 1], redis.password);
      assert.ok(settings.customerSecret !== null && settings.projectSecret !== null);
      assert.equal(join(ROOT, 'deploy', build?.context ?? '?'), ROOT);
      assert.ok(existsSync(join(ROOT, build?.dockerfile ?? '?')));
    }
  });

  test('deploy/compose.yaml waits for servers that have a health check, and stores durable data in a volume', async () => {
    const { services, volumes } = await readCompose();
    for (const { depends_on = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        assert.equal(condition, 'service_healthy');
        assert.ok(services[name]?.healthcheck !== undefined, name);
      }
    }
    const [[volume] = []] = (services.postgres?.volumes ?? []).map((mount) => mount.split(':'));
    assert.deepEqual(Object.keys(volumes), [volume]);
  });

  test('deploy/compose.yaml publishes each Rollcall to this machine alone, at a port of its own', async () => {
    const { services } = await readCompose();
    const published = Object.values(services).flatMap(({ ports = [] }) => ports);
    const port = imageEnvironment()[SETTINGS.port.env];
    assert.deepEqual(
      published.map((mapping) => /^127\.0\.0\.1:\d+:(\d+)$/.exec(mapping)?.[1]),
      [port, port],
    );
    assert.equal(new Set(published).size, published.length);
  });

  test('deploy/compose.yaml pins the images of others', async () => {
    for (const { image, build } of Object.values((await readCompose()).services)) {
      assert.ok(build !== undefined || /:\d+/.test(image), image);
    }
  });
});
