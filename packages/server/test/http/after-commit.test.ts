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

test('a user or group that is set deleted is not cached as eligible, also where a write creates another one before it', () =>
  withApp({}, async ({ engine: { store, presence, broker }, project, clock }) => {
    const parts = { store, presence, broker, clock, log: pino({ level: 'silent' }) };
    const changes: readonly (readonly Change[])[] = [
      [
        { type: 'user.created', user: 'new' },
        { type: 'user.deactivated', user: 'ada' },
      ],
      [
        { type: 'group.created', group: 'new' },
        { type: 'group.deactivated', group: 'g' },
      ],
    ];
    for (const made of changes) {
      const invalidated: unknown[] = [];
      const eligibility = new EligibilityCache({ store, broker, clock });
      eligibility.invalidate = async (_project, userIds) => void invalidated.push(userIds);
      await afterCommit({ ...parts, eligibility }, project, made);
      eligibility.close();
      assert.deepEqual(invalidated, [made[0]?.type === 'user.created' ? ['ada'] : null]);
    }
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
