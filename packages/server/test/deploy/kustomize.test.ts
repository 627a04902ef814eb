/** The manifests of deploy/kubernetes, rendered by kubectl and compared with the schemas of Kubernetes and with the program. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../docs/markdown.ts';
import { withDataDir } from '../support/server.ts';
import {
  assertGentleUpdate,
  assertJob,
  assertReferences,
  assertRestricted,
  assertSelectors,
  assertSettings,
  containerOf,
} from './deployed-pod.ts';
import { kustomized, only, skipsKubernetes } from './kubernetes-tools.ts';
import { assertPaths } from './published-paths.ts';
import { schemaErrors } from './schema-errors.ts';

const BASE = join(ROOT, 'deploy/kubernetes/base');
const URLS = { DATABASE_URL: 'postgres://u:p@db/rollcall', REDIS_URL: 'rediss://:p@cache' };

/** A copy of the manifests with the secrets that make-secrets.sh writes. */
const withProduction = (use: (overlay: string) => Promise<void>) =>
  withDataDir(async (directory) => {
    cpSync(join(ROOT, 'deploy/kubernetes'), directory, { recursive: true });
    const overlay = join(directory, 'overlays/production');
    const script = join(directory, 'make-secrets.sh');
    execFileSync(script, [join(overlay, 'secrets')], { env: { ...process.env, ...URLS } });
    await use(overlay);
  });

const textOf = (base64: string) => Buffer.from(base64, 'base64').toString();
const decoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, textOf(value)]));

describe('deploy/kubernetes', { skip: skipsKubernetes }, () => {
  test('deploy/kubernetes: base and overlay are valid by the schemas of Kubernetes, without unknown fields', () =>
    withProduction(async (overlay) => {
      const objects = kustomized(overlay);
      // kustomize folds long values. Kubernetes ignores the line breaks; the schema does not have them.
      const { data } = only(objects, 'Secret');
      for (const key of Object.keys(data)) data[key] = data[key].replaceAll('\n', '');
      assert.deepEqual(await schemaErrors([...kustomized(BASE), ...objects]), []);
      const kinds = objects.map(({ kind }) => kind).toSorted();
      assert.deepEqual(kinds, [
        ...['ConfigMap', 'Deployment', 'HorizontalPodAutoscaler', 'Ingress', 'Namespace', 'NetworkPolicy'],
        ...['PodDisruptionBudget', 'Secret', 'Service', 'ServiceAccount', 'ServiceMonitor'],
      ]);
    }));

  test('deploy/kubernetes: selectors, ports and names fit together, and the pod has no more rights than it needs', () =>
    withProduction(async (overlay) => {
      for (const objects of [kustomized(BASE), kustomized(overlay)]) {
        assertSelectors(objects);
        assertReferences(objects);
        assertRestricted(objects);
        assertGentleUpdate(objects);
      }
      assert.ok(only(kustomized(BASE), 'Deployment').spec.replicas >= 2);
    }));

  test('deploy/kubernetes: the server takes the settings and the files of the secret', () =>
    withProduction(async (overlay) => {
      const objects = kustomized(overlay);
      const secret = only(objects, 'Secret');
      const [volume] = only(objects, 'Deployment').spec.template.spec.volumes;
      assert.equal(volume.secret.secretName, secret.metadata.name);
      assert.equal(textOf(secret.data['database-url']).trim(), URLS.DATABASE_URL);
      await assertSettings(objects, decoded(secret.data));
    }));

  test('deploy/kubernetes: probes and metrics are paths of the server, and the Ingress publishes neither', () =>
    withProduction((overlay) => assertPaths(kustomized(overlay))));

  test('deploy/kubernetes: the job of Prometheus is that of the alerts, also where the names have a prefix', () =>
    withProduction(async (overlay) => {
      assertJob(kustomized(overlay));
      appendFileSync(join(overlay, 'kustomization.yaml'), 'namePrefix: eu-\n');
      assertJob(kustomized(overlay));
    }));

  test('deploy/kubernetes: a changed secret and a changed setting get new names, so that the pods restart', () =>
    withProduction(async (overlay) => {
      const namesOf = () => {
        const objects = kustomized(overlay);
        return [only(objects, 'Secret').metadata.name, containerOf(objects).envFrom[0].configMapRef.name];
      };
      const [secret, settings] = namesOf();
      execFileSync('sh', ['-c', 'echo postgres://other/db > secrets/database-url'], { cwd: overlay });
      execFileSync('sed', ['-i', 's/app.example.com/other.example.com/', 'kustomization.yaml'], {
        cwd: overlay,
      });
      const [newSecret, newSettings] = namesOf();
      assert.notEqual(newSecret, secret);
      assert.notEqual(newSettings, settings);
    }));

  test('deploy/kubernetes: the image has the version of the server', () =>
    withProduction(async (overlay) => {
      assert.equal(containerOf(kustomized(BASE)).image, `rollcall:${manifest.version}`);
      assert.match(containerOf(kustomized(overlay)).image, new RegExp(`/rollcall:${manifest.version}$`));
    }));
});

describe('deploy/kubernetes/make-secrets.sh', () => {
  test('make-secrets.sh writes files that only their owner reads, and changes none that are there', () =>
    withProduction(async (overlay) => {
      const directory = join(overlay, 'secrets');
      const script = join(overlay, '../../make-secrets.sh');
      const files = () =>
        readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]);
      const before = files();
      assert.equal(before.length, 4);
      for (const [name = ''] of before) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600);
      execFileSync(script, [directory], { env: process.env });
      assert.deepEqual(files(), before);
    }));

  test('make-secrets.sh names the variable that it needs', () =>
    withDataDir(async (directory) => {
      const script = join(ROOT, 'deploy/kubernetes/make-secrets.sh');
      const { status, stderr } = spawnSync(script, [directory], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH },
      });
      assert.notEqual(status, 0);
      assert.match(stderr, /DATABASE_URL: set it to the URL of PostgreSQL/);
    }));
});
