/** The connections of all pods, beside those that PostgreSQL has by default. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { readPage } from '../docs/markdown.ts';

/** Long reads use up to 4 connections beside those of the pool, and threads for large writes up to 3. */
const BESIDE_POOL = 7;
/** `max_connections`, less those that are reserved for the administrator. */
const DEFAULT_CONNECTIONS = 100 - 3;
/** A new pod is ready before an old one stops. */
const PODS_OF_UPDATE = 1;

for (const [file, section] of [
  ['deploy/helm/rollcall/values.yaml', 'autoscaling'],
  ['deploy/kubernetes/overlays/production/horizontal-pod-autoscaler.yaml', 'spec'],
] as const)
  test(`${file}: the connections of all pods fit into a PostgreSQL with its defaults, during an update too`, () => {
    const { maxReplicas } = parse(readPage(file))[section];
    const { poolSize } = parsePostgresUrl('postgres://db/rollcall');
    const connections = (maxReplicas + PODS_OF_UPDATE) * (poolSize + BESIDE_POOL);
    assert.ok(connections <= DEFAULT_CONNECTIONS, `${connections} connections`);
  });
