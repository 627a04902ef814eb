/** What manifests declare about the program, compared with the program itself. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileVariableOf } from '../../src/config/environment.ts';
import { SETTINGS, type SettingDefinition } from '../../src/config/setting-definitions.ts';
import { rollcall } from '../cli/cli-process.ts';
import { imageEnvironment } from '../docs/dockerfile.ts';
import { readPage } from '../docs/markdown.ts';
import { withDataDir } from '../support/server.ts';
import { type KubernetesObject, type Labels, only } from './kubernetes-tools.ts';

type Objects = readonly KubernetesObject[];

const podOf = (objects: Objects) => only(objects, 'Deployment').spec.template;

/** The program's only container. */
export function containerOf(objects: Objects): KubernetesObject['spec'] {
  const { containers } = podOf(objects).spec;
  assert.equal(containers.length, 1);
  return containers[0];
}

/** Every selector of the objects selects the pods of the Deployment, and selects by the instance. */
export function assertSelectors(objects: Objects): void {
  const { labels } = podOf(objects).metadata as { labels: Labels };
  const of = (kind: string) => objects.filter((object) => object.kind === kind).map(({ spec }) => spec);
  const selectors: Labels[] = [
    ...of('Deployment').map(({ selector }) => selector.matchLabels),
    ...podOf(objects).spec.topologySpreadConstraints.map(
      (constraint: KubernetesObject['spec']) => constraint.labelSelector.matchLabels,
    ),
    ...of('Service').map(({ selector }) => selector),
    ...of('PodDisruptionBudget').map(({ selector }) => selector.matchLabels),
    ...of('NetworkPolicy').map(({ podSelector }) => podSelector.matchLabels),
  ];
  assert.equal(selectors.length, 5);
  for (const selector of selectors) assertSelected(selector, labels);
  for (const { selector } of of('ServiceMonitor')) {
    assertSelected(selector.matchLabels, only(objects, 'Service').metadata.labels ?? {});
  }
}

function assertSelected(selector: Labels, labels: Labels): void {
  assert.ok('app.kubernetes.io/instance' in selector, JSON.stringify(selector));
  for (const [name, value] of Object.entries(selector)) assert.equal(labels[name], value);
}

/** Named ports, and objects that others name, exist. */
export function assertReferences(objects: Objects): void {
  const { name: port, containerPort } = containerOf(objects).ports[0];
  assert.equal(`${containerPort}`, imageEnvironment()[SETTINGS.port.env]);
  const service = only(objects, 'Service');
  assert.equal(service.spec.ports[0].targetPort, port);
  for (const { kind, spec } of objects) {
    if (kind === 'Ingress') {
      for (const { backend } of spec.rules[0].http.paths) {
        assert.deepEqual(backend.service, {
          name: service.metadata.name,
          port: { name: service.spec.ports[0].name },
        });
      }
    }
    if (kind === 'HorizontalPodAutoscaler') {
      assert.equal(spec.scaleTargetRef.name, only(objects, 'Deployment').metadata.name);
      assert.equal(only(objects, 'Deployment').spec.replicas, undefined, 'both set the number of pods');
    }
    if (kind === 'ServiceMonitor') assert.equal(spec.endpoints[0].port, service.spec.ports[0].name);
    if (kind === 'NetworkPolicy') assert.equal(spec.ingress[0].ports[0].port, port);
  }
  assert.equal(podOf(objects).spec.serviceAccountName, only(objects, 'ServiceAccount').metadata.name);
}

/** Prometheus calls the job what the alerts call it. The operator takes the name of the Service unless a label is named. */
export function assertJob(objects: Objects): void {
  const { jobLabel } = only(objects, 'ServiceMonitor').spec;
  const { name, labels = {} } = only(objects, 'Service').metadata;
  const job = jobLabel === undefined ? name : labels[jobLabel];
  const jobs = [...readPage('deploy/prometheus/alerts.yaml').matchAll(/\bjob="(.*?)"/g)].map(
    ([, named]) => named,
  );
  assert.ok(jobs.length > 0);
  assert.deepEqual(new Set(jobs), new Set([job]));
}

/** A new pod is ready before an old one stops, and Kubernetes does not kill one that still answers. */
export function assertGentleUpdate(objects: Objects): void {
  const { strategy } = only(objects, 'Deployment').spec;
  assert.deepEqual(strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 });
  assert.equal(only(objects, 'PodDisruptionBudget').spec.maxUnavailable, 1);
  const delay = Number(only(objects, 'ConfigMap').data[SETTINGS.stopDelaySeconds.env]);
  assert.ok(delay >= 5, `${delay}`);
  assert.ok(podOf(objects).spec.terminationGracePeriodSeconds >= delay + 20);
}

/** The pod meets the restricted Pod Security Standard, writes nothing to its image, and has no key to the cluster. */
export function assertRestricted(objects: Objects): void {
  const { spec } = podOf(objects);
  const { runAsNonRoot, runAsUser, fsGroup, runAsGroup, seccompProfile } = spec.securityContext;
  assert.deepEqual(
    [runAsNonRoot, runAsUser, runAsGroup, fsGroup, seccompProfile.type],
    [true, 1000, 1000, 1000, 'RuntimeDefault'],
  );
  assert.deepEqual(containerOf(objects).securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  assert.equal(spec.automountServiceAccountToken, false);
  // The variables of a service named rollcall would be taken for settings.
  assert.equal(spec.enableServiceLinks, false);
  const { requests, limits } = containerOf(objects).resources;
  assert.ok(requests.cpu && requests.memory && limits.memory);
}

/**
 * `rollcall config check` accepts the container's settings, with no warning, once the files of the secret are where the container
 * has them. Every secret comes from a file.
 */
export async function assertSettings(
  objects: Objects,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  await withDataDir(async (directory) => {
    const { env, envFrom, volumeMounts } = containerOf(objects);
    const configMap = only(objects, 'ConfigMap');
    assert.deepEqual(envFrom, [{ configMapRef: { name: configMap.metadata.name } }]);
    const [mount] = volumeMounts;
    mkdirSync(directory, { recursive: true });
    for (const [name, value] of Object.entries(secrets)) writeFileSync(join(directory, name), value);
    const variables = (env as { name: string; value: string }[]).map(({ name, value }) => [
      name,
      value.replace(mount.mountPath, directory),
    ]);
    const secretVariables = Object.values<SettingDefinition>(SETTINGS)
      .filter(({ secret }) => secret === true)
      .map((setting) => fileVariableOf(setting.env));
    assert.deepEqual(variables.map(([name]) => name).toSorted(), secretVariables.toSorted());
    const settings = { ...imageEnvironment(), ...configMap.data, ...Object.fromEntries(variables) };
    const { code, stdout, stderr } = await rollcall(['config', 'check', '--json'], { env: settings });
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout).warnings, []);
  });
}
