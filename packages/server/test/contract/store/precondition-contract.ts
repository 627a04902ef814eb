import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Precondition } from '../../../src/store/precondition.ts';
import { idsOf } from './entries.ts';
import type { Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

/**
 * The outcome of a write with a precondition, for a resource that exists and for one that does not. `now` is its
 * revision.
 */
interface Case {
  readonly condition: string;
  of(now: string): Precondition;
  readonly present: 'applied' | 'stale' | 'exists';
  readonly missing: 'applied' | 'stale';
}

const CASES: readonly Case[] = [
  { condition: 'none', of: () => ({}), present: 'applied', missing: 'applied' },
  { condition: 'ifMatch *', of: () => ({ ifMatch: '*' }), present: 'applied', missing: 'stale' },
  {
    condition: 'ifMatch the revision',
    of: (now) => ({ ifMatch: [now] }),
    present: 'applied',
    missing: 'stale',
  },
  {
    condition: 'ifMatch several, one the revision',
    of: (now) => ({ ifMatch: ['x', now, 'y'] }),
    present: 'applied',
    missing: 'stale',
  },
  { condition: 'ifMatch another', of: () => ({ ifMatch: ['x'] }), present: 'stale', missing: 'stale' },
  { condition: 'ifMatch an empty list', of: () => ({ ifMatch: [] }), present: 'stale', missing: 'stale' },
  { condition: 'ifNoneMatch *', of: () => ({ ifNoneMatch: '*' }), present: 'exists', missing: 'applied' },
  {
    condition: 'ifNoneMatch the revision',
    of: (now) => ({ ifNoneMatch: ['x', now] }),
    present: 'stale',
    missing: 'applied',
  },
  {
    condition: 'ifNoneMatch another',
    of: () => ({ ifNoneMatch: ['x'] }),
    present: 'applied',
    missing: 'applied',
  },
  {
    condition: 'ifMatch the revision, ifNoneMatch another',
    of: (now) => ({ ifMatch: [now], ifNoneMatch: ['x'] }),
    present: 'applied',
    missing: 'stale',
  },
  {
    condition: 'ifMatch another, ifNoneMatch another',
    of: () => ({ ifMatch: ['x'], ifNoneMatch: ['y'] }),
    present: 'stale',
    missing: 'stale',
  },
  {
    condition: 'ifMatch another, ifNoneMatch *',
    of: () => ({ ifMatch: ['x'], ifNoneMatch: '*' }),
    present: 'exists',
    missing: 'stale',
  },
  {
    condition: 'ifMatch and ifNoneMatch the revision',
    of: (now) => ({ ifMatch: [now], ifNoneMatch: [now] }),
    present: 'stale',
    missing: 'stale',
  },
];

/** A write that takes preconditions. */
interface Operation {
  readonly name: string;
  /** The outcome of an applied write; without the resource, it creates the resource or finds it absent. */
  readonly outcome: 'updated' | 'deleted';
  readonly outcomeMissing: 'created' | 'absent';
  run(roster: Roster, condition: Precondition): Promise<{ kind: string }>;
  revision(roster: Roster): Promise<string>;
}

const ofGroup = (roster: Roster) => roster.groupRevision('g');
const ofUser = (roster: Roster) => roster.userRevision('ann');

const OPERATIONS: readonly Operation[] = [
  {
    name: 'putGroup',
    outcome: 'updated',
    outcomeMissing: 'created',
    run: (roster, condition) => roster.putGroup('g', { name: 'Renamed' }, condition),
    revision: ofGroup,
  },
  {
    name: 'putGroup of members',
    outcome: 'updated',
    outcomeMissing: 'created',
    run: (roster, condition) => roster.putGroup('g', { name: 'Renamed', members: [] }, condition),
    revision: ofGroup,
  },
  {
    name: 'changeMembers',
    outcome: 'updated',
    outcomeMissing: 'absent',
    run: (roster, condition) => roster.changeMembers('g', { remove: ['ann'] }, condition),
    revision: ofGroup,
  },
  {
    name: 'deleteGroup',
    outcome: 'deleted',
    outcomeMissing: 'absent',
    run: (roster, condition) => roster.deleteGroup('g', condition),
    revision: ofGroup,
  },
  {
    name: 'putUser',
    outcome: 'updated',
    outcomeMissing: 'created',
    run: (roster, condition) => roster.putUser('ann', { name: 'Renamed' }, condition),
    revision: ofUser,
  },
  {
    name: 'deleteUser',
    outcome: 'deleted',
    outcomeMissing: 'absent',
    run: (roster, condition) => roster.deleteUser('ann', condition),
    revision: ofUser,
  },
];

export function preconditionContract(lab: StoreLab): void {
  for (const operation of OPERATIONS) {
    // Only an operation that can create has the outcome `exists`.
    const answer = (expected: Case['present']) => {
      if (expected === 'applied') return operation.outcome;
      return expected === 'exists' && operation.outcomeMissing === 'created' ? 'exists' : 'stale';
    };

    for (const { condition, of, present, missing } of CASES) {
      test(`${operation.name} with ${condition}: ${answer(present)}`, async () => {
        const roster = await lab.projectWithGroup('g', 'ann');
        const before = await roster.everything();
        const { kind } = await operation.run(roster, of(await operation.revision(roster)));
        assert.equal(kind, answer(present));
        if (present !== 'applied') assert.deepEqual(await roster.everything(), before, 'nothing changes');
      });

      const expected = missing === 'stale' ? 'stale' : operation.outcomeMissing;
      test(`${operation.name} with ${condition} of a resource that does not exist: ${expected}`, async () => {
        const roster = await lab.project();
        assert.equal((await operation.run(roster, of('r1'))).kind, expected);
        if (expected !== 'created') {
          assert.deepEqual(await idsOf(roster.listGroups), []);
          assert.deepEqual(await idsOf(roster.listUsers), []);
        }
      });
    }
  }

  test('ifMatch is checked also when a write would change nothing', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    assert.equal((await roster.putGroup('g', {}, { ifMatch: ['x'] })).kind, 'stale');
    assert.equal((await roster.changeMembers('g', {}, { ifMatch: ['x'] })).kind, 'stale');
    assert.equal((await roster.putUser('ann', {}, { ifNoneMatch: '*' })).kind, 'exists');
  });

  test('references are checked before conflicts: unknown users before `exists` and `stale`', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    const members = ['nobody'];
    assert.equal(
      (await roster.putGroup('g', { name: 'N', members }, { ifNoneMatch: '*' })).kind,
      'unknownUsers',
    );
    assert.equal((await roster.putGroup('g', { members }, { ifMatch: ['x'] })).kind, 'unknownUsers');
    assert.equal(
      (await roster.changeMembers('g', { add: members }, { ifMatch: ['x'] })).kind,
      'unknownUsers',
    );
  });

  test('an update with ifMatch of a group that does not exist is `stale`, also without a name', async () => {
    const roster = await lab.project();
    assert.equal((await roster.putGroup('g', { status: 'active' }, { ifMatch: '*' })).kind, 'stale');
  });

  test('exactly one of several racing writes with the same ifMatch is applied', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    const ifMatch = [await roster.groupRevision('g')];
    const writes = Array.from({ length: 20 }, (_, index) =>
      roster.putGroup('g', { name: `N${index}` }, { ifMatch }),
    );
    const kinds = (await Promise.all(writes)).map(({ kind }) => kind);
    assert.deepEqual(kinds.sort(), [...Array(19).fill('stale'), 'updated']);
  });
}
