/** The chart of deploy/helm, rendered by helm and compared with the schemas of Kubernetes, the manifests and the program. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT, readPage } from '../docs/markdown.ts';
import { withDataDir } from '../support/server.ts';
import {
  assertGentleUpdate,
  assertJob,
  assertReferences,
  assertRestricted,
  assertSelectors,
  assertSettings,
} from './deployed-pod.ts';
import {
  helm,
  type KubernetesObject,
  kustomized,
  only,
  released,
  skipsKubernetes,
} from './kubernetes-tools.ts';
import { assertPaths } from './published-paths.ts';
import { schemaErrors } from './schema-errors.ts';

const CHART = join(ROOT, 'deploy/helm/rollcall');
const SECRETS = {
  databaseUrl: 'postgres://u:p@db/rollcall',
  redisUrl: 'redis://:p@cache',
  customerSecret: 'the secret of acme',
  projectSecret: 'the secret of acme-prod',
};
/** All optional objects. */
const EVERYTHING = {
  secrets: SECRETS,
  ingress: { enabled: true },
  autoscaling: { enabled: true },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
};

/** Renders the chart with values in a file, as operators have them. */
async function chart(values: object, release = 'rollcall'): Promise<KubernetesObject[]> {
  return withDataDir(async (directory) => {
    await mkdir(directory, { recursive: true });
    const file = join(directory, 'values.yaml');
    writeFileSync(file, JSON.stringify(values));
    return released(release, CHART, '--values', file);
  });
}

/** Without what Helm adds, and what goes by names. */
function comparable(objects: readonly KubernetesObject[]): unknown {
  const { replicas, strategy, template } = structuredClone(only(objects, 'Deployment').spec);
  delete template.metadata.annotations;
  delete template.spec.containers[0].imagePullPolicy;
  delete template.spec.containers[0].envFrom;
  const specs = ['Service', 'PodDisruptionBudget', 'NetworkPolicy'].map((kind) => only(objects, kind).spec);
  return { replicas, strategy, template, specs, settings: only(objects, 'ConfigMap').data };
}

describe('deploy/helm/rollcall', { skip: skipsKubernetes }, () => {
  test('deploy/helm/rollcall has no complaints of helm lint, and can be packaged', () =>
    withDataDir(async (directory) => {
      const set = Object.entries(SECRETS).map(([name, value]) => `secrets.${name}=${value}`);
      helm('lint', '--strict', '--quiet', CHART, '--set', set.join());
      helm('package', CHART, '--destination', directory);
      assert.deepEqual(readdirSync(directory), [`rollcall-${manifest.version}.tgz`]);
    }));

  test('deploy/helm/rollcall is valid by the schemas of Kubernetes, without unknown fields, in all its parts', async () => {
    const objects = await chart(EVERYTHING);
    assert.deepEqual(await schemaErrors(objects), []);
    const kinds = objects.map(({ kind }) => kind).toSorted();
    assert.deepEqual(kinds, [
      ...['ConfigMap', 'Deployment', 'HorizontalPodAutoscaler', 'Ingress', 'NetworkPolicy', 'Pod'],
      ...['PodDisruptionBudget', 'Secret', 'Service', 'ServiceAccount', 'ServiceMonitor'],
    ]);
  });

  test('deploy/helm/rollcall by default deploys what deploy/kubernetes/base does', async () => {
    const base = kustomized(join(ROOT, 'deploy/kubernetes/base'));
    assert.deepEqual(comparable(await chart({ secrets: SECRETS })), comparable(base));
  });

  test('deploy/helm/rollcall: selectors, ports and names fit together, also of a release with another name', async () => {
    for (const release of ['rollcall', 'eu']) {
      const objects = await chart(EVERYTHING, release);
      assertSelectors(objects);
      assertReferences(objects);
      assertRestricted(objects);
      assertGentleUpdate(objects);
      for (const { metadata } of objects)
        assert.match(metadata.name, release === 'eu' ? /^eu-rollcall/ : /^rollcall/);
    }
  });

  test('deploy/helm/rollcall: the server takes the settings and the files of the secret', async () => {
    const objects = await chart({
      secrets: SECRETS,
      settings: { ROLLCALL_BODY_LIMIT_BYTES: 536_870_912, ROLLCALL_LOG_LEVEL: 'debug' },
    });
    const data = only(objects, 'ConfigMap').data;
    assert.equal(data.ROLLCALL_BODY_LIMIT_BYTES, '536870912');
    const secret = only(objects, 'Secret');
    const [volume] = only(objects, 'Deployment').spec.template.spec.volumes;
    assert.equal(volume.secret.secretName, secret.metadata.name);
    await assertSettings(objects, secret.stringData);
  });

  test('deploy/helm/rollcall: probes and metrics are paths of the server, and the Ingress publishes neither', async () =>
    assertPaths(await chart(EVERYTHING)));

  test('deploy/helm/rollcall: names that look like numbers stay text, and the host of the Ingress can be a wildcard', async () => {
    const ingress = { enabled: true, host: '*.example.com', tlsSecret: '2026', className: 'true' };
    for (const fullnameOverride of ['', '007']) {
      const values = { ...EVERYTHING, fullnameOverride, secrets: { existingSecret: '1e3' }, ingress };
      const objects = await chart(values, '2026');
      assert.deepEqual(await schemaErrors(objects), []);
      assertSelectors(objects);
      assertReferences(objects);
      const { rules, tls } = only(objects, 'Ingress').spec;
      assert.deepEqual(
        [rules[0].host, tls],
        ['*.example.com', [{ hosts: ['*.example.com'], secretName: '2026' }]],
      );
    }
  });

  test('deploy/helm/rollcall: the job of Prometheus is that of the alerts, also of a release with another name', async () => {
    for (const release of ['rollcall', 'eu']) assertJob(await chart(EVERYTHING, release));
  });

  test('deploy/helm/rollcall takes a secret that exists, and then makes none', async () => {
    const objects = await chart({ secrets: { existingSecret: 'mine' } });
    assert.ok(objects.every(({ kind }) => kind !== 'Secret'));
    const [volume] = only(objects, 'Deployment').spec.template.spec.volumes;
    assert.equal(volume.secret.secretName, 'mine');
  });

  test('deploy/helm/rollcall: a changed secret and a changed setting change the pods', async () => {
    const annotationsOf = async (values: object) =>
      only(await chart(values), 'Deployment').spec.template.metadata.annotations as Record<string, string>;
    const before = await annotationsOf({ secrets: SECRETS });
    const secret = await annotationsOf({ secrets: { ...SECRETS, redisUrl: 'redis://other' } });
    const setting = await annotationsOf({ secrets: SECRETS, settings: { ROLLCALL_LOG_LEVEL: 'warn' } });
    assert.notEqual(secret['checksum/secrets'], before['checksum/secrets']);
    assert.notEqual(setting['checksum/settings'], before['checksum/settings']);
  });

  test('deploy/helm/rollcall rejects missing secrets, misspelled values, and settings that belong elsewhere', async () => {
    const cases: [values: object, reason: RegExp][] = [
      [{}, /set secrets\.databaseUrl, or name a secret with secrets\.existingSecret/],
      [{ secrets: { ...SECRETS, projectSecret: '' } }, /set secrets\.projectSecret/],
      [{ secrets: { ...SECRETS, projectSecret: 'short' } }, /projectSecret/],
      [{ secrets: { ...SECRETS, redisUrl: 'cache:6379' } }, /redisUrl/],
      [{ secrets: SECRETS, replicas: 3 }, /replicas/],
      [
        { secrets: SECRETS, settings: { ROLLCALL_DATABASE_URL: 'postgres://db' } },
        /propertyName 'ROLLCALL_DATABASE_URL'/,
      ],
      [{ secrets: SECRETS, settings: { ROLLCALL_PROJECT_SECRET: 'x' } }, /propertyName/],
      [{ secrets: SECRETS, settings: { ROLLCALL_PORT: 9000 } }, /propertyName/],
      [{ secrets: SECRETS, settings: { LOG_LEVEL: 'debug' } }, /propertyName/],
    ];
    for (const [values, reason] of cases) await assert.rejects(chart(values), reason);
  });

  test('deploy/helm/rollcall has the version of the server', () => {
    const { version, appVersion } = parse(readPage('deploy/helm/rollcall/Chart.yaml'));
    assert.deepEqual([version, appVersion], [manifest.version, manifest.version]);
  });
});
