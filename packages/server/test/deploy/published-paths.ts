/** The paths that manifests name, requested from a running server. */
import assert from 'node:assert/strict';
import { KNOWN, withServe } from '../cli/cli-process.ts';
import { send } from '../support/http-client.ts';
import { withDataDir } from '../support/server.ts';
import { containerOf } from './deployed-pod.ts';
import type { KubernetesObject } from './kubernetes-tools.ts';

interface IngressPath {
  readonly path: string;
  readonly pathType: 'Prefix' | 'Exact';
}

/** Probes and metrics answer 200; of these, the Ingress publishes none, and it publishes the API and its description. */
export async function assertPaths(objects: readonly KubernetesObject[]): Promise<void> {
  const { startupProbe, readinessProbe, livenessProbe } = containerOf(objects);
  const monitor = objects.find(({ kind }) => kind === 'ServiceMonitor');
  const ingress = objects.find(({ kind }) => kind === 'Ingress');
  assert.ok(monitor !== undefined && ingress !== undefined);
  const inner = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet.path as string);
  inner.push(monitor.spec.endpoints[0].path);
  const paths = ingress.spec.rules[0].http.paths as IngressPath[];
  const isPublished = (request: string) =>
    paths.some(
      ({ path, pathType }) => request === path || (pathType === 'Prefix' && request.startsWith(`${path}/`)),
    );
  await withDataDir((dataDir) =>
    withServe(dataDir, KNOWN, async ({ url }) => {
      for (const path of inner) {
        assert.equal((await send(url, 'GET', path)).status, 200, path);
        assert.ok(!isPublished(path.replace(/\?.*/, '')), path);
      }
      const headers = { accept: 'text/html' };
      for (const path of ['/', '/docs', '/openapi.json', '/asyncapi.json', '/v1/groups']) {
        assert.ok(isPublished(path), path);
        assert.notEqual((await send(url, 'GET', path, { headers })).status, 404, path);
      }
    }),
  );
}
