import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { pino } from 'pino';
import { afterCommit } from '../../src/core/changes/after-commit.ts';
import { EligibilityCache } from '../../src/core/eligibility-cache.ts';
import type { Change } from '../../src/store/changes/changes.ts';
import { type IdList, packIds } from '../../src/store/worker-threads/packed-ids.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { numbered } from '../contract/store/roster.ts';
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

test('presence in thousands of groups that one write leaves is removed a few hundred groups at a time', () =>
  withApp({}, async ({ engine: { store, presence, broker }, project, clock }) => {
    const ended: string[] = [];
    let [underWay, most] = [0, 0];
    presence.removeUsers = async ({ groupId }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await nextIteration();
      underWay -= 1;
      ended.push(groupId);
    };
    const eligibility = new EligibilityCache({ store, broker, clock });
    const groups = numbered('g', 3_000);
    const changes = groups.map((group): Change => ({ type: 'member.removed', group, users: ['ada'] }));
    const parts = { store, presence, broker, eligibility, clock, log: pino({ level: 'silent' }) };
    await afterCommit(parts, project, changes);
    eligibility.close();
    assert.deepEqual(ended, groups);
    assert.ok(most <= 200, `${most} at once`);
  }));
