/** A whole store as records: what an export has, and what an import makes of it. */
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { StoreNotEmptyError } from '../../../src/store/ports/transfer.ts';
import type { Store } from '../../../src/store/store.ts';
import type { RecordOf, RecordType, TransferRecord } from '../../../src/store/transfer-records.ts';
import { BY_TEST, CONTEXT } from '../../support/origin.ts';
import { newRoster, numbered, Roster, START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';
import {
  atOnce,
  expectRejectedByEmpty,
  expectTakenAfter,
  exported,
  inOrderOfText,
  projectOf,
  spacesOf,
} from './transfers.ts';

const ODD = 'a "\\{},NULL\' \u{1f600}/%';
const PAGE_1 = { page: '1' };
const PAGE_2 = { page: ODD, site: 's' };
const SITE = { site: 's' };
const AN_HOUR_MS = 3_600_000;

export function transferContract(lab: StoreLab): void {
  const { withStore, withTwo } = spacesOf(lab);

  test('a store that imports an export answers every read as the store that was exported', () =>
    withTwo(async (from, to) => {
      const { roster, projectId, sessions } = await stockedScene(from);
      assert.equal(await to.projects.find(projectId), null);
      await to.transfer.import(from.transfer.export());
      const copy = await rosterOf(to, projectId);
      assert.deepEqual(await copy.everything(), await roster.everything());
      assert.deepEqual(await exported(to), await exported(from));
      assert.deepEqual(
        Buffer.from(await to.sessions.serviceKey()),
        Buffer.from(await from.sessions.serviceKey()),
      );
      for (const id of [sessions.live, sessions.revoked]) {
        const [{ project: _, ...one }, { project: __, ...other }] = [
          (await from.sessions.find(id)) as object as { project: unknown },
          (await to.sessions.find(id)) as object as { project: unknown },
        ];
        assert.deepEqual(other, one);
      }
      const { key: _, ...project } = await projectOf(to, projectId);
      const { key: __, ...original } = await projectOf(from, projectId);
      assert.deepEqual(project, original);
    }));

  test('an export has a record of every type and leaves defaults out', () =>
    withStore(async (from) => {
      const { customerId, projectId, sessions } = await stockedScene(from);
      const key = Buffer.from(await from.sessions.serviceKey()).toString('base64');
      const project = projectId;
      const presence = { type: 'durable_presence', project, group: 'g' } as const;
      const expected: object[] = [
        { type: 'service_key', key },
        { type: 'customer', id: customerId, secret: 'customer secret', name: 'C' },
        {
          ...{ type: 'project', id: projectId, customer_id: customerId, name: 'P' },
          ...{ secret: 'second', previous_secret: 'project secret', previous_valid_until: START + 5 },
        },
        ...[
          { type: 'session', project, id: sessions.live, expires_at: START + 1 } as const,
          { type: 'session', project, id: sessions.revoked, expires_at: START + 2, revoked: true } as const,
        ].sort((a, b) => (a.id < b.id ? -1 : 1)),
        { type: 'user', project, id: ODD, name: ODD, email: 'a@b.c', send_via_messenger: false },
        {
          ...{
            type: 'user',
            project,
            id: 'bob',
            status: 'deleted',
            metadata: { [ODD]: [1.5, null, { b: 1 }] },
          },
          ...{
            short_name: 'b',
            profile_picture_url: 'https://b.c/d',
            send_via_messenger: false,
            send_via_email: false,
          },
        },
        { type: 'user', project, id: 'cid' },
        { type: 'group', project, id: 'g', name: ODD, metadata: { n: 1 }, workspace: 'W \u{1f600}' },
        { type: 'group', project, id: 'h', name: 'h', status: 'deleted' },
        { type: 'members', project, group: 'g', users: [ODD, 'bob', 'cid'] },
        { type: 'members', project, group: 'h', users: [ODD] },
        { ...presence, user: ODD, region: PAGE_1, location: PAGE_1 },
        { ...presence, user: ODD, region: SITE, location: PAGE_2 },
        { ...presence, user: 'bob', region: PAGE_2, location: PAGE_2 },
      ];
      const records = (await exported(from)).map(withoutTimes);
      assert.deepEqual(inOrderOfText(records), inOrderOfText(expected));
    }));

  test('an export names customers, projects, users and groups before the records that need them', () =>
    withStore(async (from) => {
      const roster = await newRoster(from);
      await stockedProject(from);
      await roster.groupOf('large', ...numbered('u', 2_500));
      const batches = await Array.fromAsync(from.transfer.export());
      const size = (record: TransferRecord) => (record.type === 'members' ? record.users.length : 1);
      for (const batch of batches) {
        const rows = batch.reduce((sum, record) => sum + size(record), 0);
        assert.ok(rows > 0 && rows <= 1_000, `a batch has ${rows} rows`);
      }
      const order: readonly RecordType[] = [
        ...(['service_key', 'customer', 'project', 'session', 'user', 'group'] as const),
        ...(['members', 'durable_presence'] as const),
      ];
      const positions = batches.flat().map(({ type }) => order.indexOf(type));
      assert.deepEqual(
        positions,
        positions.toSorted((a, b) => a - b),
      );
    }));

  test('an export has nothing of a deleted project', () =>
    withStore(async (from) => {
      const scene = await stockedScene(from);
      await from.projects.delete(scene.roster.key);
      const types = (await exported(from)).map(({ type }) => type);
      assert.deepEqual(types, ['service_key', 'customer']);
    }));

  test('an export is of one moment while writes go on', () =>
    withStore(async (from) => {
      const roster = await newRoster(from);
      const users = numbered('u', 2_100);
      await roster.groupOf('g', ...users);
      const records: TransferRecord[] = [];
      for await (const batch of from.transfer.export()) {
        if (records.length === 0) {
          await roster.deleteUser('u002099');
          await roster.putUser('u000000', { name: 'late' });
          await roster.deleteGroup('g');
        }
        records.push(...batch);
      }
      const users_ = records.filter((record) => record.type === 'user');
      assert.deepEqual([users_.length, users_.some(({ name }) => name === 'late')], [2_100, false]);
      assert.deepEqual(membersIn(records), users);
    }));

  test('an export waits for a reader that takes nothing for an hour at a time', () =>
    withStore(async (from) => {
      const roster = await newRoster(from);
      const users = numbered('u', 2_100);
      await roster.groupOf('g', ...users);
      const records: TransferRecord[] = [];
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        for await (const batch of from.transfer.export()) {
          records.push(...batch);
          mock.timers.tick(AN_HOUR_MS);
        }
      } finally {
        mock.timers.reset();
      }
      assert.deepEqual(membersIn(records), users);
    }));

  test('an export that is not read to its end does not block the store or its closing', () =>
    withStore(async (from) => {
      await stockedScene(from);
      for (let round = 0; round < 20; round += 1) {
        const iterator = from.transfer.export()[Symbol.asyncIterator]();
        if (round % 3 > 0) assert.equal((await iterator.next()).done, false);
        assert.equal((await iterator.return?.())?.done, true);
      }
      assert.ok((await exported(from)).length > 0);
    }));

  test('an imported project takes writes, and counts its users and members', () =>
    withTwo(async (from, to) => {
      const roster = await newRoster(from);
      const users = numbered('u', 2_500);
      await roster.groupOf('large', ...users);
      await to.transfer.import(from.transfer.export());
      const copy = await rosterOf(to, await roster.projectId());
      const page = { after: null, limit: 1 };
      assert.equal((await copy.listUsers(page)).total, 2_500);
      assert.equal((await copy.membersOf('large')(page)).total, 2_500);
      await copy.users('v');
      await copy.changeMembers('large', { add: ['v'], remove: ['u000007'] });
      assert.deepEqual(await copy.members('large'), [...users.filter((id) => id !== 'u000007'), 'v']);
      assert.equal((await copy.deleteUser('u000008')).kind, 'deleted');
      assert.equal((await copy.listUsers(page)).total, 2_500);
      assert.equal((await copy.membersOf('large')(page)).total, 2_499);
    }));

  test('imported durable presence is found by location and moves with the next update', () =>
    withTwo(async (from, to) => {
      const { projectId } = await stockedScene(from);
      await to.transfer.import(from.transfer.export());
      const copy = await rosterOf(to, projectId);
      const present = async (location: object, partial: boolean) => {
        const filter = { location: JSON.stringify(location), partial };
        const page = { after: null, limit: 10 };
        const found = await to.durablePresence.list(copy.key, 'g', filter, page);
        return found.map(({ userId, at }) => [userId, at]);
      };
      assert.deepEqual(await present(SITE, true), [[ODD, 20]]);
      assert.deepEqual(await present(PAGE_1, false), [[ODD, 10]]);
      await copy.putUser('bob', { status: 'active' });
      assert.deepEqual(await present(SITE, true), [
        [ODD, 20],
        ['bob', 30],
      ]);
      const [region, location] = [JSON.stringify(SITE), JSON.stringify({ page: '9', site: 's' })];
      const update = { userId: ODD, groupId: 'g', region, location };
      const outcome = await to.durablePresence.put(copy.key, update, { ...copy.next(), now: 15 });
      assert.deepEqual(outcome.kind === 'set' && [outcome.previous, outcome.at], [
        JSON.stringify(PAGE_2),
        21,
      ]);
      assert.deepEqual(await present(PAGE_2, false), [['bob', 30]]);
    }));

  test('an import into a store with a customer is rejected and changes nothing', () =>
    withTwo(async (from, to) => {
      await stockedScene(from);
      await stockedScene(to);
      const before = await exported(to);
      await assert.rejects(to.transfer.import(from.transfer.export()), StoreNotEmptyError);
      assert.deepEqual(await exported(to), before);
    }));

  test('an import whose records end with an error leaves the store empty, and can be repeated', () =>
    withTwo(async (from, to) => {
      await stockedScene(from);
      const batches = await Array.fromAsync(from.transfer.export());
      const key = Buffer.from(await to.sessions.serviceKey());
      const failing = async function* () {
        yield* batches;
        throw new Error('truncated');
      };
      await assert.rejects(to.transfer.import(failing()), /truncated/);
      assert.deepEqual(
        (await exported(to)).map(({ type }) => type),
        ['service_key'],
      );
      assert.deepEqual(Buffer.from(await to.sessions.serviceKey()), key);
      await to.transfer.import(from.transfer.export());
      assert.deepEqual(await exported(to), await exported(from));
    }));

  const customer = { type: 'customer', id: 'c', secret: 's', name: 'C', created_at: 1 } as const;
  const projectP = { ...customer, type: 'project', id: 'p', customer_id: 'c' } as const;
  const user = { type: 'user', project: 'p', id: 'u', created_at: 1, updated_at: 1, revision: 'r' } as const;
  const group = { type: 'group', project: 'p', id: 'g', name: 'G', revision: 'r' } as const;
  const members = { type: 'members', project: 'p', group: 'g', users: ['u'] } as const;
  const presence: RecordOf<'durable_presence'> = {
    ...{ type: 'durable_presence', project: 'p', group: 'g', user: 'u' },
    ...{ region: PAGE_1, location: PAGE_1, updated_at: 1 },
  };
  const session = { type: 'session', project: 'p', id: 's', expires_at: 1 } as const;
  const whole = [customer, projectP, session, user, group, { ...members, users: ['u'] }, presence];

  test('durable presence is imported in any order of time, and the next update comes after all of it', () =>
    withStore(async (to) => {
      const earlier = { ...presence, region: SITE, location: SITE, updated_at: 0 };
      await to.transfer.import(atOnce([...whole, earlier]));
      const copy = await rosterOf(to, 'p');
      const [region, location] = [JSON.stringify(SITE), JSON.stringify(PAGE_2)];
      const update = { userId: 'u', groupId: 'g', region, location };
      const outcome = await to.durablePresence.put(copy.key, update, { ...copy.next(), now: 1 });
      assert.equal(outcome.kind === 'set' && outcome.at, 2);
    }));

  const contradictions: readonly (readonly [what: string, records: readonly TransferRecord[]])[] = [
    ['a project of an unknown customer', [projectP]],
    ['a session of an unknown project', [customer, session]],
    ['a user of an unknown project', [customer, user]],
    ['a group of an unknown project', [customer, projectP, { ...group, project: 'q' }]],
    ['a member who is no user', [customer, projectP, group, { ...members, users: ['u'] }]],
    ['members of an unknown group', [customer, projectP, user, { ...members, users: ['u'] }]],
    ['durable presence of a user who is not a member', [customer, projectP, user, group, presence]],
    ...whole.map((record) => [`a ${record.type} twice`, [...whole, { ...record }]] as const),
    ['a member of two records', [...whole, { ...user, id: 'v' }, { ...members, users: ['v', 'u'] }]],
    ['a member twice', [...whole.slice(0, 5), { ...members, users: ['u', 'u'] }]],
  ];
  const ofGroup: TransferRecord = { ...members, users: ['u'] };
  const early: readonly (readonly [what: string, records: readonly TransferRecord[], at: number])[] = [
    ['a member whose user comes later', [customer, projectP, group, ofGroup, user], 3],
    ['durable presence before its member', [customer, projectP, user, group, presence, ofGroup], 4],
  ];
  for (const [what, records, at] of early)
    test(`an import with ${what} is rejected with that record, also where both are in one batch`, () =>
      expectRejectedByEmpty(lab, records, at));

  for (const [what, records] of contradictions)
    test(`an import with ${what} is rejected with that record, and the store stays empty`, () =>
      expectRejectedByEmpty(lab, records));

  const rejected = contradictions.map(([, records]) => records);
  test('a store that has rejected imports takes a whole one', () => expectTakenAfter(lab, rejected, whole));
}

interface Scene {
  readonly roster: Roster;
  readonly customerId: string;
  readonly projectId: string;
  readonly sessions: { readonly live: string; readonly revoked: string };
}

/** A store with one project that has something of every type. */
async function stockedScene(store: Store): Promise<Scene> {
  await store.sessions.serviceKey();
  return stockedProject(store);
}

async function stockedProject(store: Store): Promise<Scene> {
  const roster = await newRoster(store);
  const projectId = await roster.projectId();
  const { customerId } = await projectOf(store, projectId);
  await store.projects.rotateSecret(roster.key, { secret: 'second', previousValidUntil: START + 5 }, CONTEXT);
  const sessions = { live: unique('session'), revoked: unique('session') };
  await store.sessions.create(roster.key, { id: sessions.live, expiresAt: START + 1 }, CONTEXT);
  await store.sessions.create(roster.key, { id: sessions.revoked, expiresAt: START + 2 }, CONTEXT);
  await store.sessions.revoke(roster.key, sessions.revoked, CONTEXT);
  await roster.groupOf('g', ODD, 'bob', 'cid');
  await roster.groupOf('h', ODD);
  await roster.putGroup('g', { name: ODD, metadata: { n: 1 } });
  await roster.putGroup('h', { status: 'deleted' });
  await roster.putUser(ODD, { name: ODD, email: 'a@b.c' });
  await store.preferences.put(roster.key, ODD, { sendViaMessenger: false }, CONTEXT);
  await store.preferences.put(roster.key, 'bob', { sendViaMessenger: false, sendViaEmail: false }, CONTEXT);
  await store.preferences.put(roster.key, 'cid', { sendViaMessenger: true }, CONTEXT);
  await roster.connectGroup('g', 'W \u{1f600}');
  const durable = [
    [ODD, PAGE_1, PAGE_1, 10],
    [ODD, SITE, PAGE_2, 20],
    ['bob', PAGE_2, PAGE_2, 30],
  ] as const;
  for (const [userId, regionOf, at, now] of durable) {
    const [region, location] = [JSON.stringify(regionOf), JSON.stringify(at)];
    const update = { userId, groupId: 'g', region, location };
    await store.durablePresence.put(roster.key, update, { now, revision: `p${now}`, ...BY_TEST });
  }
  const bob = {
    short_name: 'b',
    profile_picture_url: 'https://b.c/d',
    metadata: { [ODD]: [1.5, null, { b: 1 }] },
  };
  await roster.putUser('bob', { ...bob, status: 'deleted' });
  return { roster, customerId, projectId, sessions };
}

const rosterOf = async (store: Store, projectId: string) =>
  new Roster(store, (await projectOf(store, projectId)).key);

function withoutTimes(record: TransferRecord): object {
  const { created_at, updated_at, revision, ...rest } = record as Record<string, unknown>;
  return rest;
}

const membersIn = (records: readonly TransferRecord[]): string[] =>
  records.flatMap((record) => (record.type === 'members' ? record.users : []));
