import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  FixedDelivery,
  StoredPosition,
  WebhookAttempt,
  WebhookStep,
} from '../../../src/store/ports/webhooks.ts';
import { ProjectGoneError } from '../../../src/values/engine-errors.ts';
import { CONTEXT } from '../../support/origin.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const URL_A = 'https://a.invalid/';
const MOST = 3;
const BEGIN: StoredPosition = { position: 0, index: 0 };

const attemptOf = (webhookId: string): WebhookAttempt => ({
  ...{ webhookId, at: 5, status: 200, error: null },
  ...{ milliseconds: 1, answer: 'ok' },
});
const deliveryOf = (id: string, position: number): FixedDelivery => ({
  ...{ id, body: `{"id":"${id}"}` },
  end: { position, index: 0 },
});

const put = ({ store, key }: Roster, id: string, more = {}) =>
  store.webhooks.put(key, id, { url: URL_A, secret: 's', start: BEGIN, ...more }, MOST, CONTEXT);

const claim = ({ store, key }: Roster, lease: string, now = 10, more = {}) =>
  store.webhookLeases.claim([key], {
    ...{ now, until: now + 6, leases: [lease], own: [], hasRepeats: true },
    ...more,
  });

const advance = ({ store, key }: Roster, lease: string, step: Partial<WebhookStep>) =>
  store.webhooks.advance(key, 'w', lease, { version: 0, position: 0, ...step }, CONTEXT);

/** Something has been recorded, and has its position. */
async function recordSomething({ store, key }: Roster): Promise<void> {
  await store.projects.rename(key, `N${Math.random()}`, CONTEXT);
  while ((await store.changes.order([key])).hasMore);
}

/** The webhook `w`, whose first delivery has failed and is due again at 50. */
async function failOnce(roster: Roster): Promise<void> {
  await put(roster, 'w');
  await recordSomething(roster);
  await claim(roster, 'a');
  await advance(roster, 'a', { next: deliveryOf('d1', 1) });
  await advance(roster, 'a', { failed: { dueAt: 50, since: 11 }, attempt: attemptOf('d1') });
}

/** Webhooks and their leases. */
export function webhookContract(lab: StoreLab): void {
  const withRoster = async (use: (roster: Roster) => Promise<void>) => use(await lab.project());

  test('a webhook is leased once: by another lease only after its end, and by none of the same process', () =>
    withRoster(async (roster) => {
      await put(roster, 'w');
      await recordSomething(roster);
      assert.deepEqual(
        (await claim(roster, 'a')).map(({ id }) => id),
        ['w'],
      );
      assert.deepEqual(await claim(roster, 'b'), []);
      assert.deepEqual(await claim(roster, 'b', 15), []);
      assert.deepEqual(await claim(roster, 'b', 16, { own: ['a'] }), []);
      const leased = { project: roster.key, id: 'w', lease: 'a' };
      assert.deepEqual(await roster.store.webhookLeases.renew([leased], 30), ['a']);
      assert.deepEqual(await claim(roster, 'b', 29), []);
      assert.equal((await claim(roster, 'b', 30)).length, 1);
    }));

  test('each webhook of a claim has a lease of its own, which ends while its process has the others', () =>
    withRoster(async (roster) => {
      const { store, key: project } = roster;
      await put(roster, 'v');
      await put(roster, 'w');
      await recordSomething(roster);
      const first = await claim(roster, 'a', 10, { leases: ['a', 'b'] });
      const leases = new Map(first.map(({ id, lease }) => [id, lease]));
      assert.deepEqual([...leases.keys()].sort(), ['v', 'w']);
      assert.deepEqual([...leases.values()].sort(), ['a', 'b']);
      const lease = leases.get('w') as string;
      assert.deepEqual(await store.webhookLeases.renew([{ project, id: 'w', lease }], 30), [lease]);
      const claimed = await claim(roster, 'c', 16, { own: [lease], leases: ['c', 'd'] });
      assert.deepEqual(
        claimed.map(({ id }) => id),
        ['v'],
      );
    }));

  test('a claim leases as many webhooks as it has tokens', () =>
    withRoster(async (roster) => {
      for (const id of ['u', 'v', 'w']) await put(roster, id);
      await recordSomething(roster);
      assert.equal((await claim(roster, 'a', 10, { leases: ['a', 'b'] })).length, 2);
      assert.equal((await claim(roster, 'c', 10, { leases: ['c', 'd'] })).length, 1);
    }));

  test('what the holder of a lease reports after another one took over is of no effect', () =>
    withRoster(async (roster) => {
      await put(roster, 'w');
      await recordSomething(roster);
      await claim(roster, 'a');
      const next = deliveryOf('d1', 1);
      assert.equal((await advance(roster, 'a', { next })).isFixed, true);
      const [taken] = await claim(roster, 'b', 100);
      assert.deepEqual(taken?.delivery, next);
      const late = await advance(roster, 'a', { acknowledged: true, attempt: attemptOf('d1') });
      assert.deepEqual(late, { kind: 'unchanged', changes: [], hasLease: false, isFixed: false });
      const ended = { project: roster.key, id: 'w', lease: 'a' };
      assert.deepEqual(await roster.store.webhookLeases.renew([ended], 900), []);
      assert.deepEqual(await roster.store.webhooks.attempts(roster.key, 'w', 10), []);
      const [again] = await claim(roster, 'c', 200);
      assert.deepEqual(again?.delivery, next);
    }));

  test('many claims at once lease each webhook once', () =>
    withRoster(async (roster) => {
      for (const id of ['u', 'v', 'w']) await put(roster, id);
      await recordSomething(roster);
      const tokens = (index: number) => ['a', 'b', 'c'].map((name) => `${name}${index}`);
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, index) => claim(roster, '', 10, { leases: tokens(index) })),
      );
      const claimed = claims.flat();
      assert.deepEqual(claimed.map(({ id }) => id).sort(), ['u', 'v', 'w']);
      assert.equal(new Set(claimed.map(({ lease }) => lease)).size, 3);
    }));

  test('an acknowledged delivery moves the webhook to its end, and the next one is fixed in the same step', () =>
    withRoster(async (roster) => {
      await put(roster, 'w');
      for (let count = 0; count < 3; count += 1) await recordSomething(roster);
      await claim(roster, 'a');
      await advance(roster, 'a', { next: deliveryOf('d1', 1) });
      const step = { acknowledged: true, attempt: attemptOf('d1'), next: deliveryOf('d2', 2) } as const;
      const outcome = await advance(roster, 'a', step);
      assert.deepEqual(outcome, { kind: 'updated', changes: [], hasLease: true, isFixed: true });
      await advance(roster, 'a', { isReleased: true });
      const [claimed] = await claim(roster, 'b');
      assert.deepEqual([claimed?.start, claimed?.delivery], [{ position: 1, index: 0 }, deliveryOf('d2', 2)]);
    }));

  test('a delivery that failed is repeated when it is due, with its failures and their beginning', () =>
    withRoster(async (roster) => {
      await failOnce(roster);
      assert.deepEqual(await claim(roster, 'b', 49), []);
      assert.deepEqual(await claim(roster, 'b', 50, { hasRepeats: false }), []);
      const [claimed] = await claim(roster, 'b', 50);
      assert.deepEqual([claimed?.failures, claimed?.failingSince, claimed?.delivery?.id], [1, 11, 'd1']);
    }));

  test('a delivery that failed, or is leased, by a clock that was set back since can be claimed', () =>
    withRoster(async (roster) => {
      const HOUR = 3_600_000;
      const claimed = async (lease: string, now: number) => (await claim(roster, lease, now)).length;
      await put(roster, 'w');
      await recordSomething(roster);
      assert.deepEqual(
        [await claimed('a', HOUR), await claimed('b', HOUR - 290_000), await claimed('b', 0)],
        [1, 0, 1],
      );
      await advance(roster, 'b', { next: deliveryOf('d1', 1) });
      const failed = { dueAt: HOUR + 5, since: HOUR };
      for (const at of [HOUR + 1, HOUR]) await advance(roster, 'b', { attempt: { ...attemptOf('d1'), at } });
      await advance(roster, 'b', { failed });
      assert.deepEqual(
        [
          await claimed('c', HOUR + 4),
          await claimed('c', HOUR - 300_000),
          await claimed('c', HOUR - 300_001),
        ],
        [0, 0, 1],
      );
      const attempt = { ...attemptOf('d1'), at: HOUR - 300_001 };
      await advance(roster, 'c', { failed, attempt });
      assert.equal(await claimed('d', HOUR - 300_001), 0);
    }));

  test('a webhook with a new URL is due at once, without the failures of the old URL and with its delivery', () =>
    withRoster(async (roster) => {
      await failOnce(roster);
      await put(roster, 'w', { types: ['user.created'] });
      assert.deepEqual(await claim(roster, 'b', 49), []);
      await put(roster, 'w', { url: 'https://b.invalid/' });
      const [claimed] = await claim(roster, 'b', 10, { hasRepeats: false });
      assert.deepEqual([claimed?.failures, claimed?.failingSince, claimed?.delivery?.id], [0, null, 'd1']);
    }));

  test('a webhook that is failing records the change of its status, and is not claimed', () =>
    withRoster(async (roster) => {
      await put(roster, 'w');
      await recordSomething(roster);
      await claim(roster, 'a');
      const { changes } = await advance(roster, 'a', { isFailing: true });
      assert.deepEqual(changes, [{ type: 'webhook.updated', webhook: 'w', fields: ['status'] }]);
      assert.equal((await roster.store.webhooks.find(roster.key, 'w'))?.status, 'failing');
      assert.deepEqual(await claim(roster, 'b', 1_000), []);
    }));

  test('a delivery is not fixed when the webhook was changed since it was claimed, and the lease ends', () =>
    withRoster(async (roster) => {
      await put(roster, 'w');
      await recordSomething(roster);
      const [claimed] = await claim(roster, 'a');
      await put(roster, 'w', { types: ['user.created'] });
      const { version = -1 } = claimed ?? {};
      const outcome = await advance(roster, 'a', { version, next: deliveryOf('d1', 1) });
      assert.deepEqual([outcome.hasLease, outcome.isFixed], [false, false]);
      const [again] = await claim(roster, 'b');
      assert.equal(again?.delivery, null);
      assert.deepEqual(again?.types, ['user.created']);
      assert.deepEqual(
        again?.pastTypes.map(({ types }) => types),
        [null],
      );
    }));

  for (const failure of [{ isFailing: true }, { failed: { dueAt: 50, since: 11 } }] as const)
    test(`a webhook with a new URL since it was claimed is due as the write left it: ${Object.keys(failure)}`, () =>
      withRoster(async (roster) => {
        await put(roster, 'w');
        await recordSomething(roster);
        await claim(roster, 'a');
        await advance(roster, 'a', { next: deliveryOf('d1', 1) });
        await put(roster, 'w', { url: 'https://b.invalid/' });
        const outcome = await advance(roster, 'a', { ...failure, attempt: attemptOf('d1') });
        assert.deepEqual(outcome, { kind: 'updated', changes: [], hasLease: false, isFixed: false });
        assert.equal((await roster.store.webhooks.attempts(roster.key, 'w', 10))?.length, 1);
        const [claimed] = await claim(roster, 'b');
        assert.deepEqual(
          [claimed?.url, claimed?.failures, claimed?.delivery?.id],
          ['https://b.invalid/', 0, 'd1'],
        );
      }));

  test('a failure counts also where the types or the secret of the webhook were changed since it was claimed', () =>
    withRoster(async (roster) => {
      await failOnce(roster);
      await claim(roster, 'b', 50);
      await put(roster, 'w', { types: ['user.created'] });
      const rotation = { secret: 't', previousValidUntil: 1_000 };
      await roster.store.webhooks.rotateSecret(roster.key, 'w', rotation, CONTEXT);
      const outcome = await advance(roster, 'b', { failed: { dueAt: 80, since: 11 } });
      assert.equal(outcome.hasLease, false);
      assert.deepEqual(await claim(roster, 'c', 79), []);
      const [claimed] = await claim(roster, 'c', 80);
      assert.deepEqual([claimed?.failures, claimed?.failingSince, claimed?.delivery?.id], [2, 11, 'd1']);
    }));

  for (const [what, writes] of [
    ['paused and set active', [{ status: 'paused' }, { status: 'active' }]],
    ['given another URL and its first one again', [{ url: 'https://b.invalid/' }, { url: URL_A }]],
  ] as const)
    for (const failure of [{ isFailing: true }, { failed: { dueAt: 80, since: 11 } }] as const)
      test(`a failure of a first attempt does not count where the webhook was ${what} since it was claimed: ${Object.keys(failure)}`, () =>
        withRoster(async (roster) => {
          await put(roster, 'w');
          await recordSomething(roster);
          await claim(roster, 'a');
          await advance(roster, 'a', { next: deliveryOf('d1', 1) });
          for (const write of writes) await put(roster, 'w', write);
          await advance(roster, 'a', failure);
          const [claimed] = await claim(roster, 'b', 51);
          assert.deepEqual(
            [claimed?.status, claimed?.failures, claimed?.failingSince, claimed?.delivery?.id],
            ['active', 0, null, 'd1'],
          );
        }));

  test('a replay ends lease and delivery, and a late acknowledgement does not move the webhook', () =>
    withRoster(async (roster) => {
      await put(roster, 'w');
      for (let count = 0; count < 2; count += 1) await recordSomething(roster);
      await claim(roster, 'a');
      await advance(roster, 'a', { next: deliveryOf('d1', 2) });
      await roster.store.webhooks.replay(roster.key, 'w', BEGIN, CONTEXT);
      assert.equal((await advance(roster, 'a', { acknowledged: true })).hasLease, false);
      const [claimed] = await claim(roster, 'b');
      assert.deepEqual([claimed?.start, claimed?.delivery], [BEGIN, null]);
    }));

  test('a replay sends all records by the types that the webhook has now', () =>
    withRoster(async (roster) => {
      await put(roster, 'w', { types: ['user.created'] });
      await recordSomething(roster);
      await put(roster, 'w', { types: ['user.updated'] });
      await roster.store.webhooks.replay(roster.key, 'w', BEGIN, CONTEXT);
      assert.deepEqual((await roster.store.webhooks.find(roster.key, 'w'))?.pastTypes, []);
    }));

  test('a webhook that is created without a position begins after its own record and all acknowledged writes', () =>
    withRoster(async (roster) => {
      const { store, key } = roster;
      await store.projects.rename(key, 'acknowledged, and perhaps without a position yet', CONTEXT);
      await put(roster, 'w', { start: null });
      while ((await store.changes.order([key])).hasMore);
      const { newest } = await store.changes.read(key, 0, 0);
      assert.deepEqual((await store.webhooks.find(key, 'w'))?.start, { position: newest, index: 0 });
      assert.deepEqual(await claim(roster, 'a'), []);
      await store.projects.rename(key, 'later', CONTEXT);
      await store.webhooks.replay(key, 'w', null, CONTEXT);
      while ((await store.changes.order([key])).hasMore);
      const { newest: last } = await store.changes.read(key, 0, 0);
      assert.deepEqual((await store.webhooks.find(key, 'w'))?.start, { position: last, index: 0 });
    }));

  test('a webhook that is created again begins after its own record, without the attempts of the one before', () =>
    withRoster(async (roster) => {
      const { store, key } = roster;
      await put(roster, 'w', { start: null });
      await store.webhooks.log(key, 'w', attemptOf('d1'));
      await store.webhooks.delete(key, 'w', CONTEXT);
      await put(roster, 'w', { start: null });
      while ((await store.changes.order([key])).hasMore);
      const { newest } = await store.changes.read(key, 0, 0);
      assert.deepEqual((await store.webhooks.find(key, 'w'))?.start, { position: newest, index: 0 });
      assert.deepEqual(await store.webhooks.attempts(key, 'w', 10), []);
    }));

  test('a project has no more webhooks than it may have, however many are created at once', () =>
    withRoster(async (roster) => {
      const outcomes = await Promise.all(numbered('w', 20).map((id) => put(roster, id)));
      assert.equal(outcomes.filter(({ kind }) => kind === 'created').length, MOST);
      assert.equal(outcomes.filter(({ kind }) => kind === 'full').length, 20 - MOST);
      assert.equal((await roster.store.webhooks.list(roster.key)).length, MOST);
    }));

  test('the last 100 attempts are stored, and no more than ten past types', () =>
    withRoster(async (roster) => {
      const { store, key } = roster;
      await put(roster, 'w');
      for (let count = 1; count <= 103; count += 1)
        await store.webhooks.log(key, 'w', attemptOf(`d${count}`));
      const stored = (await store.webhooks.attempts(key, 'w', 1_000)) ?? [];
      assert.deepEqual([stored.length, stored[0]?.webhookId, stored.at(-1)?.webhookId], [100, 'd103', 'd4']);
      for (let count = 0; count < 12; count += 1) await put(roster, 'w', { types: [`t${count}`] });
      const { pastTypes = [] } = (await store.webhooks.find(key, 'w')) ?? {};
      assert.deepEqual(
        pastTypes.map(({ types }) => types?.[0]),
        Array.from({ length: 10 }, (_, index) => `t${index + 1}`),
      );
    }));

  test('a webhook whose lease ends after its delivery was fixed has the past types of what follows the delivery', () =>
    withRoster(async (roster) => {
      const { store, key } = roster;
      for (const type of ['a', 'b', 'c', 'd']) await put(roster, 'w', { types: [type] });
      await recordSomething(roster);
      const version = (await claim(roster, 'a'))[0]?.version;
      await advance(roster, 'a', { version, next: deliveryOf('d1', 1), position: 1 } as WebhookStep);
      // Its position is still before the delivery, where more types decide.
      await advance(roster, 'a', { version, isReleased: true, position: 0 } as WebhookStep);
      const { pastTypes = [] } = (await store.webhooks.find(key, 'w')) ?? {};
      assert.deepEqual(
        pastTypes.map(({ types }) => types?.[0]),
        ['b', 'c'],
      );
    }));

  test('the work names the projects with active webhooks, and whether one can be claimed', () =>
    withRoster(async (roster) => {
      const { store, key } = roster;
      await put(roster, 'w', { status: 'paused' });
      const workOf = async (now = 10) =>
        (await store.webhookLeases.work({ now, own: [] })).find(({ project }) => project === key);
      assert.equal(await workOf(), undefined);
      await put(roster, 'w', { status: 'active' });
      await recordSomething(roster);
      const { newest: furthest } = await store.changes.read(key, 0, 1);
      const work = { project: key, active: 1, behind: 1, resting: 0, furthest };
      assert.deepEqual(await workOf(), { ...work, isDue: true });
      await claim(roster, 'a');
      assert.deepEqual(await workOf(), { ...work, isDue: false });
      assert.deepEqual(await workOf(16), { ...work, isDue: true });
    }));

  test('the work names every project with active webhooks once, however many they are', () =>
    withRoster(async ({ store }) => {
      const rosters = await Promise.all(Array.from({ length: 45 }, () => lab.project()));
      for (const roster of rosters) await put(roster, 'w');
      const named = (await store.webhookLeases.work({ now: 10, own: [] })).map(({ project }) => project);
      assert.equal(new Set(named).size, named.length);
      assert.deepEqual(
        rosters.filter(({ key }) => !named.includes(key)),
        [],
      );
    }));

  test('the work counts webhooks that are behind and that rest, and a failing one is counted apart', () =>
    withRoster(async (roster) => {
      const { store, key } = roster;
      await put(roster, 'w');
      await put(roster, 'at the end', { start: null });
      while ((await store.changes.order([key])).hasMore);
      const { newest } = await store.changes.read(key, 0, 1);
      const workOf = async (now: number) => {
        const found = await store.webhookLeases.work({ now, own: [] });
        const { active, behind, resting, furthest } = found.find(({ project }) => project === key) ?? {};
        return { active, behind, resting, furthest };
      };
      const [{ version = 0 } = {}] = (await claim(roster, 'a')).filter(({ id }) => id === 'w');
      await advance(roster, 'a', { version, next: deliveryOf('d', newest) });
      assert.deepEqual(await workOf(10), { active: 2, behind: 1, resting: 0, furthest: newest });
      await advance(roster, 'a', { version, attempt: attemptOf('d'), failed: { dueAt: 50, since: 10 } });
      assert.equal((await workOf(10)).resting, 1);
      assert.equal((await workOf(50)).resting, 0);
      const before = await store.webhookLeases.countFailing();
      await claim(roster, 'b', 50);
      await advance(roster, 'b', { version, attempt: attemptOf('d'), isFailing: true });
      assert.equal(await store.webhookLeases.countFailing(), before + 1);
      assert.equal((await workOf(50)).active, 1);
    }));

  test('a deleted project has no webhooks to claim', () =>
    withRoster(async (roster) => {
      const { store, key } = roster;
      await put(roster, 'w');
      await recordSomething(roster);
      await store.projects.delete(key);
      assert.deepEqual(await claim(roster, 'a'), []);
      const work = await store.webhookLeases.work({ now: 10, own: [] });
      assert.ok(!work.some(({ project }) => project === key));
    }));

  test('the deletion of a project ends the leases of its webhooks', () =>
    withRoster(async (roster) => {
      const { store, key: project } = roster;
      await put(roster, 'w');
      await recordSomething(roster);
      await claim(roster, 'a');
      await advance(roster, 'a', { next: deliveryOf('d1', 1) });
      await store.projects.delete(project);
      assert.deepEqual(await store.webhookLeases.renew([{ project, id: 'w', lease: 'a' }], 30), []);
      await assert.rejects(advance(roster, 'a', { acknowledged: true }), ProjectGoneError);
    }));
}
