import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { proveChanges } from '../changes/change-proof.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { oneCluster, skip } from './cluster-case.ts';

const CHANGES = 20_000;
const seed = Date.now() % 1_000_000;

describe(`changes under load, with the seed ${seed}`, () => {
  const embedded = oneServer();

  test('a reader of the embedded store misses no change, gets none twice, and a replay gives what the API reads', async () => {
    const count = await proveChanges({ projects: [await embedded.project()], seed, changes: CHANGES });
    assert.ok(count >= CHANGES);
  });
});

describe(`changes of two processes under load, with the seed ${seed}`, { skip }, () => {
  const cluster = oneCluster(2);

  test('readers of both miss no change, get none twice, and a replay gives what the API reads', async () => {
    const projects = (await cluster.project()) as [Project, ...Project[]];
    const { databaseUrl } = cluster.servers;
    const count = await proveChanges({ projects, seed, changes: CHANGES, databaseUrl });
    assert.ok(count >= CHANGES);
  });
});
