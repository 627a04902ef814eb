import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { pino } from 'pino';
import { afterCommit } from '../../src/core/changes/after-commit.ts';
import { EligibilityCache } from '../../src/core/eligibility-cache.ts';
import type { Change } from '../../src/store/changes/changes.ts';
import { type IdList, packIds } from '../../src/store/worker-threads/packed-ids.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { withApp } from './app-case.ts';

test('presence that cannot be removed after a write is one log line with the count, and the write succeeds', () =>
  withApp({}, async ({ engine: { store, presence, broker }, project, clock }) => {
    const lines: { failures?: number }[] = [];
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
    presence.removeUsers = async () => {
      await nextIteration();
      throw new StoreUnavailableError('away');
    };
    const eligibility = new EligibilityCache({ store, broker, clock });
    const removed = (group: string, users: IdList): Change => ({
      type: 'member.removed',
      group,
      users,
    });
    const changes = [removed('g', ['ada']), removed('h', ['bob']), removed('all', packIds(['cyd', 'dan']))];
    await afterCommit({ store, presence, broker, eligibility, clock, log }, project, changes);
    eligibility.close();
    assert.deepEqual(
      lines.map(({ failures }) => failures),
      [3],
    );
  }));
