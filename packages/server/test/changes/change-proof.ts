/** The order of changes under load: readers without pause beside many writers. */
import assert from 'node:assert/strict';
import { expectDone } from '../support/expect.ts';
import { withClient } from '../support/postgres.ts';
import type { Project } from '../support/project-client.ts';
import { ChangeFollower, LAST_REQUEST } from './change-follower.ts';
import { runChangeLoad } from './change-load.ts';
import { readState } from './read-state.ts';

export interface ChangeProof {
  /** A host's view of a project without data through each process: each has writers and a reader. */
  readonly projects: readonly [Project, ...Project[]];
  readonly seed: number;
  /** How many changes there are at least. */
  readonly changes: number;
  /** Names a PostgreSQL, where transactions commit late beside the writers. */
  readonly databaseUrl?: string;
  /** A failure beside the load, which goes on until this resolves. Readers repeat what is answered 503. */
  readonly failure?: () => Promise<void>;
}

/** Inserts a record as a write does, of a change that the state does not show. */
const RECORD = `
  INSERT INTO written_changes (project_id, at, actor, request_id, changes)
  SELECT project_id, 1, 'service', $2, ARRAY['[{"type":"preferences.updated","user":"u0","fields":[]}]'] FROM projects WHERE id = $1`;

/**
 * Runs the writers, and asserts that every reader has read the same changes, none twice, each in an order that fits, and that
 * they add up to what the API reads. Gives the number of changes.
 */
export async function proveChanges({
  projects,
  seed,
  changes,
  databaseUrl,
  failure,
}: ChangeProof): Promise<number> {
  const [first] = projects;
  // Pages of one change, of a few, and of many begin and end everywhere.
  const followers = projects.map(
    (project) => new ChangeFollower(project, [1, 7, 100, 1_000, 10_000], failure !== undefined),
  );
  let isBroken = false;
  const reading = Promise.all(followers.map((follower) => follower.follow()));
  reading.catch(() => {
    isBroken = true;
  });
  let isFailing = failure !== undefined;
  const failing = failure?.().finally(() => {
    isFailing = false;
  });
  const isEnough = () => isBroken || (!isFailing && followers.every(({ count }) => count >= changes));
  const late = databaseUrl === undefined ? undefined : commitLate(databaseUrl, first.id, isEnough);
  await Promise.all([runChangeLoad({ projects, seed, isEnough }), late, failing]);
  expectDone(await first.put('/v1/users/last', {}, { 'x-request-id': LAST_REQUEST }));
  await reading;
  const [{ ids, count, replay }, ...others] = followers as [ChangeFollower, ...ChangeFollower[]];
  for (const other of others)
    assert.deepEqual(other.ids, ids, 'all readers read the same changes in the same order');
  assert.deepEqual(replay.state, await readState(first), 'a replay gives what the API reads');
  return count;
}

/** Transactions that take their number long before they commit, one after the other. */
function commitLate(databaseUrl: string, project: string, isEnough: () => boolean): Promise<void> {
  return withClient(databaseUrl, async (client) => {
    for (let index = 0; !isEnough(); index += 1) {
      await client.query('BEGIN');
      await client.query(RECORD, [project, `late:${index}`]);
      await client.query('SELECT pg_sleep(0.1)');
      await client.query('COMMIT');
    }
  });
}
