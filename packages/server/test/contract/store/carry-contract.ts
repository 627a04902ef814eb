/** What one store hands to another beside what an export carries, and how the other takes it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalLocation } from '@rollcall/protocol';
import type { CarriedRecord, Store } from '../../../src/store/store.ts';
import { newRoster, numbered, Roster, START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

type Carried<Type extends CarriedRecord['type']> = Extract<CarriedRecord, { type: Type }>;

const STAMP = { now: START, revision: 'carried' };
const PAGE_1 = canonicalLocation({ page: '1' });
const PAGE_2 = canonicalLocation({ page: '2', site: 's' });
const SITE = canonicalLocation({ site: 's' });

export function carryContract(lab: StoreLab): void {
  /** A store of its own, which holds nothing. */
  const withStore = async (use: (store: Store) => Promise<void>) => {
    const space = await lab.makeSpace();
    const store = await space.open();
    try {
      await use(store);
    } finally {
      await store.close();
      await space.remove();
    }
  };
  const withTwo = (use: (from: Store, to: Store) => Promise<void>) =>
    withStore((from) => withStore((to) => use(from, to)));

  test('what one store hands over another takes, and hands over the same', () =>
    withTwo(async (from, to) => {
      const scene = await stockedScene(from);
      const records = await carriedBy(from);
      await carryAll(records, to);
      await exportInto(to, scene.projectId);
      assert.deepEqual(await carryAll(records, to), { written: records.length, skipped: 0 });
      assert.deepEqual(sorted(await carriedBy(to)), sorted(records));
    }));

  test('every kind is handed over as it is, and defaults are left out', () =>
    withStore(async (from) => {
      const { customerId, projectId, sessions } = await stockedScene(from);
      const key = Buffer.from(await from.serviceKey()).toString('base64');
      const presence = { type: 'durablePresence', projectId, groupId: 'g' } as const;
      const expected: CarriedRecord[] = [
        { type: 'serviceKey', key },
        { type: 'customer', id: customerId, secret: 'customer secret', name: 'C', createdAt: START },
        {
          ...{ type: 'project', id: projectId, customerId, name: 'P', createdAt: START },
          ...{ secret: 'second', previousSecret: 'project secret', previousValidUntil: START + 5 },
        },
        { type: 'session', id: sessions.live, projectId, expiresAt: START + 1, revoked: false },
        { type: 'session', id: sessions.revoked, projectId, expiresAt: START + 2, revoked: true },
        { type: 'preferences', projectId, userId: 'ann', sendViaMessenger: false, sendViaEmail: true },
        { type: 'preferences', projectId, userId: 'bob', sendViaMessenger: false, sendViaEmail: false },
        { type: 'workspace', projectId, groupId: 'g', workspace: 'W \u{1f600}' },
        { ...presence, userId: 'ann', region: PAGE_1, location: PAGE_1, at: 10 },
        { ...presence, userId: 'ann', region: SITE, location: PAGE_2, at: 20 },
        { ...presence, userId: 'bob', region: PAGE_2, location: PAGE_2, at: 30 },
      ];
      assert.deepEqual(sorted(await carriedBy(from)), sorted(expected));
    }));

  test('customers come before projects, and projects before what is in them; a piece is 1,000 records at most', () =>
    withStore(async (from) => {
      const roster = await newRoster(from);
      await newRoster(from);
      const users = numbered('u', 1_100);
      await roster.users(...users);
      await Promise.all(users.map((id) => from.putPreferences(roster.key, id, { sendViaEmail: false })));
      const pieces = await Array.fromAsync(from.carryOut());
      assert.ok(pieces.every((piece) => piece.length > 0 && piece.length <= 1_000));
      const records = pieces.flat();
      assert.equal(records.filter(({ type }) => type === 'preferences').length, 1_100);
      const places = (type: CarriedRecord['type']) =>
        records.flatMap((record, index) => (record.type === type ? [index] : []));
      assert.ok(Math.max(...places('customer')) < Math.min(...places('project')));
      assert.ok(Math.max(...places('project')) < Math.min(...places('preferences')));
    }));

  test('a store that holds nothing hands over nothing but a key', () =>
    withStore(async (from) => {
      assert.deepEqual(
        (await carriedBy(from)).filter(({ type }) => type !== 'serviceKey'),
        [],
      );
      const key = Buffer.from(await from.serviceKey()).toString('base64');
      assert.deepEqual(await carriedBy(from), [{ type: 'serviceKey', key }]);
    }));

  test('a deleted project hands over nothing', () =>
    withStore(async (from) => {
      const scene = await stockedScene(from);
      await from.deleteProject(scene.roster.key);
      const kinds = (await carriedBy(from)).map(({ type }) => type);
      assert.deepEqual(kinds, ['serviceKey', 'customer']);
    }));

  test('the service key, secrets and sessions are those of the other store: its tokens go on', () =>
    withTwo(async (from, to) => {
      const { projectId, sessions } = await stockedScene(from);
      await to.serviceKey();
      await carryAll(await carriedBy(from), to);
      assert.deepEqual(
        Buffer.from(await to.serviceKey()).toString('hex'),
        Buffer.from(await from.serviceKey()).toString('hex'),
      );
      const project = await projectOf(to, projectId);
      assert.deepEqual(
        [project.secret, project.previousSecret, project.previousValidUntil],
        ['second', 'project secret', START + 5],
      );
      const live = await to.findSession(sessions.live);
      assert.deepEqual([live?.expiresAt, live?.revoked, live?.project], [START + 1, false, project]);
      assert.equal((await to.findSession(sessions.revoked))?.revoked, true);
    }));

  test('a session that was revoked here stays revoked when an older record of it is imported', () =>
    withTwo(async (from, to) => {
      const { projectId, sessions } = await stockedScene(from);
      const records = await carriedBy(from);
      await carryAll(records, to);
      await to.revokeSession(sessions.live);
      await carryAll(records, to);
      assert.equal((await to.findSession(sessions.live))?.revoked, true);
      const record = { type: 'session', id: sessions.live, projectId, expiresAt: START + 9 } as const;
      assert.deepEqual(await to.carryIn([{ ...record, revoked: false }], STAMP), { written: 1, skipped: 0 });
      const found = await to.findSession(sessions.live);
      assert.deepEqual([found?.revoked, found?.expiresAt], [true, START + 9], 'the rest is replaced');
    }));

  test('of two records of a session in one call, the one that revokes it counts, in either order', () =>
    withStore(async (to) => {
      const { projectId } = await stockedScene(to);
      for (const order of [
        [true, false],
        [false, true],
      ]) {
        const id = unique('session');
        const records = order.map(
          (revoked) => ({ type: 'session', id, projectId, expiresAt: START, revoked }) as const,
        );
        assert.deepEqual(await to.carryIn(records, STAMP), { written: 2, skipped: 0 });
        assert.equal((await to.findSession(id))?.revoked, true);
      }
    }));

  test('durable presence of somebody set deleted comes too, and is back with them', () =>
    withTwo(async (from, to) => {
      const { projectId } = await stockedScene(from);
      const records = await carriedBy(from);
      await carryAll(records, to);
      await exportInto(to, projectId);
      await carryAll(records, to);
      const roster = await rosterOf(to, projectId);
      const listed = () =>
        to.listDurablePresence(
          roster.key,
          'g',
          { location: SITE, partial: true },
          { after: null, limit: 10 },
        );
      const ann = { userId: 'ann', location: PAGE_2, at: 20 };
      const bob = { userId: 'bob', location: PAGE_2, at: 30 };
      assert.deepEqual(await listed(), [ann]);
      assert.deepEqual(await to.findDurablePresence(roster.key, 'g', 'bob'), bob);
      await roster.putUser('bob', { status: 'active' });
      assert.deepEqual(await listed(), [ann, bob]);
    }));

  test('what is there already is replaced by the record', () =>
    withStore(async (to) => {
      const scene = await stockedScene(to);
      const { projectId, sessions } = scene;
      const other = { id: unique('customer'), secret: 's', name: 'Other', createdAt: 1 };
      const replacing: CarriedRecord[] = [
        { type: 'serviceKey', key: Buffer.alloc(64, 7).toString('base64') },
        { type: 'customer', ...other },
        { type: 'customer', id: scene.customerId, secret: 'new', name: 'New', createdAt: 2 },
        {
          ...{ type: 'project', id: projectId, customerId: other.id, name: 'N', createdAt: 3 },
          ...{ secret: 'third', previousSecret: null, previousValidUntil: null },
        },
        { type: 'session', id: sessions.live, projectId, expiresAt: 9, revoked: true },
        { type: 'preferences', projectId, userId: 'ann', sendViaMessenger: true, sendViaEmail: false },
        { type: 'workspace', projectId, groupId: 'g', workspace: 'V' },
        presenceAt(projectId, 'ann', SITE, PAGE_1, 5),
      ];
      assert.deepEqual(await to.carryIn(replacing, STAMP), { written: replacing.length, skipped: 0 });
      const now = await carriedBy(to);
      for (const record of replacing) assert.ok(now.some(equals(record)), JSON.stringify(record));
      assert.equal(now.length, 12, 'one customer more, and nothing twice');
      assert.deepEqual(await filtered(to, scene.roster, PAGE_2), []);
      assert.deepEqual(await filtered(to, scene.roster, PAGE_1), ['ann']);
    }));

  test('the same record twice changes nothing more, whether in one call or in two', () =>
    withStore(async (to) => {
      const { projectId, roster } = await stockedScene(to);
      const record = presenceAt(projectId, 'ann', SITE, PAGE_1, 50);
      const workspace: CarriedRecord = { type: 'workspace', projectId, groupId: 'h', workspace: 'W' };
      const records = [record, workspace, record, workspace];
      assert.deepEqual(await to.carryIn(records, { now: START, revision: 'first' }), {
        written: 4,
        skipped: 0,
      });
      const before = await roster.everything();
      assert.equal((await roster.group('h')).connectedToMessenger, true);
      assert.equal(await roster.groupRevision('h'), 'first', 'what is read of the group has changed');
      await to.carryIn(records, { now: START + 1, revision: 'second' });
      assert.deepEqual(await roster.everything(), before);
    }));

  test('a record of a project, user, group or membership that is not there is left out and counted', () =>
    withStore(async (to) => {
      const { projectId, roster } = await stockedScene(to);
      await roster.users('stranger');
      const before = sorted(await carriedBy(to));
      const nowhere = unique('nowhere');
      const strangers: CarriedRecord[] = [
        {
          ...{ type: 'project', id: unique('project'), customerId: nowhere, name: 'P', createdAt: 1 },
          ...{ secret: 's', previousSecret: null, previousValidUntil: null },
        },
        { type: 'session', id: unique('session'), projectId: nowhere, expiresAt: 1, revoked: false },
        {
          ...{ type: 'preferences', projectId: nowhere, userId: 'ann' },
          ...{ sendViaMessenger: false, sendViaEmail: false },
        },
        { type: 'preferences', projectId, userId: 'nobody', sendViaMessenger: false, sendViaEmail: false },
        { type: 'workspace', projectId: nowhere, groupId: 'g', workspace: 'W' },
        { type: 'workspace', projectId, groupId: 'nowhere', workspace: 'W' },
        presenceAt(nowhere, 'ann', PAGE_1, PAGE_1, 1),
        presenceAt(projectId, 'nobody', PAGE_1, PAGE_1, 1),
        presenceAt(projectId, 'stranger', PAGE_1, PAGE_1, 1),
        { ...presenceAt(projectId, 'ann', PAGE_1, PAGE_1, 1), groupId: 'nowhere' },
      ];
      const count = strangers.length;
      assert.deepEqual(await to.carryIn(strangers, STAMP), { written: 0, skipped: count });
      assert.deepEqual(sorted(await carriedBy(to)), before);
      const known = presenceAt(projectId, 'ann', PAGE_2, PAGE_2, 7);
      assert.deepEqual(await to.carryIn([...strangers, known], STAMP), { written: 1, skipped: count });
      assert.deepEqual(await to.carryIn([], STAMP), { written: 0, skipped: 0 });
    }));

  test('records of one call can build on each other: a customer, its project, a session of that', () =>
    withStore(async (to) => {
      const records: CarriedRecord[] = [
        { type: 'customer', id: 'c', secret: 's', name: 'C', createdAt: 1 },
        {
          ...{ type: 'project', id: 'p', customerId: 'c', name: 'P', createdAt: 1 },
          ...{ secret: 's', previousSecret: null, previousValidUntil: null },
        },
        { type: 'session', id: 's', projectId: 'p', expiresAt: 1, revoked: false },
      ];
      assert.deepEqual(await to.carryIn(records, STAMP), { written: 3, skipped: 0 });
      assert.equal((await to.findSession('s'))?.project.id, 'p');
      const made = await rosterOf(to, 'p');
      await made.groupOf('g', 'ann');
      assert.deepEqual(await made.members('g'), ['ann'], 'it is a project like any other');
    }));

  test('who reads meanwhile sees all that one call carries, or nothing of it', () =>
    withStore(async (to) => {
      const roster = await newRoster(to);
      const { id: projectId } = await theOnlyProject(to);
      const users = numbered('u', 400);
      await roster.groupOf('g', ...users);
      const records = users.map((userId) => presenceAt(projectId, userId, PAGE_1, PAGE_1, 1));
      let carried = false;
      const carrying = to.carryIn(records, STAMP).finally(() => {
        carried = true;
      });
      const seen = new Set<number>();
      while (!carried) {
        seen.add((await filtered(to, roster, PAGE_1)).length);
        await nextTurn();
      }
      await carrying;
      seen.add((await filtered(to, roster, PAGE_1)).length);
      seen.delete(0);
      assert.deepEqual([...seen], [400]);
    }));

  test('one state of the store is handed over, while writes go on', () =>
    withStore(async (from) => {
      const roster = await newRoster(from);
      const users = numbered('u', 1_100);
      await roster.groupOf('g', ...users);
      const put = (userId: string, at: number) =>
        from.putDurablePresence(
          roster.key,
          { userId, groupId: 'g', region: PAGE_1, location: PAGE_1 },
          { now: at, revision: 'p' },
        );
      await Promise.all(users.map((user) => put(user, 1)));
      const carried: CarriedRecord[] = [];
      let piecesRead = 0;
      for await (const piece of from.carryOut()) {
        carried.push(...piece);
        piecesRead += 1;
        // All that the rest of the walk has still to read is changed under it.
        if (piecesRead === 1) {
          await Promise.all(users.map((user) => put(user, 2)));
          await from.putPreferences(roster.key, 'u000000', { sendViaEmail: false });
          await roster.deleteUser('u001099');
        }
      }
      const presence = carried.filter((record) => record.type === 'durablePresence');
      assert.deepEqual(
        [presence.length, new Set(presence.map(({ at }) => at))],
        [1_100, new Set([1])],
        'as it was when the walk began',
      );
      assert.ok(!carried.some(({ type }) => type === 'preferences'));
    }));

  test('whoever stops early lets go: many may, and the store goes on and closes', () =>
    withStore(async (from) => {
      await stockedScene(from);
      for (let round = 0; round < 20; round += 1) {
        const iterator = from.carryOut()[Symbol.asyncIterator]();
        if (round % 3 > 0) assert.equal((await iterator.next()).done, false);
        assert.equal((await iterator.return?.())?.done, true);
      }
      assert.ok((await carriedBy(from)).length > 0);
    }));
}

interface Scene {
  readonly roster: Roster;
  readonly customerId: string;
  readonly projectId: string;
  readonly sessions: { readonly live: string; readonly revoked: string };
}

/** A customer's project with something of every kind. */
async function stockedScene(store: Store): Promise<Scene> {
  const roster = await newRoster(store);
  const { id: projectId, customerId } = await theOnlyProject(store);
  await store.serviceKey();
  await store.rotateSecret(roster.key, 'second', START + 5);
  const sessions = { live: unique('session'), revoked: unique('session') };
  await store.createSession({ id: sessions.live, project: roster.key, expiresAt: START + 1 });
  await store.createSession({ id: sessions.revoked, project: roster.key, expiresAt: START + 2 });
  await store.revokeSession(sessions.revoked);
  await fillRoster(roster, 'active');
  await store.putPreferences(roster.key, 'ann', { sendViaMessenger: false });
  await store.putPreferences(roster.key, 'bob', { sendViaMessenger: false, sendViaEmail: false });
  await store.putPreferences(roster.key, 'cid', { sendViaMessenger: true });
  await roster.connectGroup('g', 'W \u{1f600}');
  await roster.connectGroup('h', 'W');
  await roster.connectGroup('h', null);
  const placed = [
    ['ann', PAGE_1, PAGE_1, 10],
    ['ann', SITE, PAGE_2, 20],
    ['bob', PAGE_2, PAGE_2, 30],
  ] as const;
  for (const [userId, region, location, now] of placed) {
    const update = { userId, groupId: 'g', region, location };
    await store.putDurablePresence(roster.key, update, { now, revision: `p${now}` });
  }
  await roster.putUser('bob', { status: 'deleted' });
  return { roster, customerId, projectId, sessions };
}

/** The part that an export carries: users, groups and memberships. */
async function fillRoster(roster: Roster, bob: 'active' | 'deleted'): Promise<void> {
  await roster.groupOf('g', 'ann', 'bob', 'cid');
  await roster.groupOf('h', 'ann');
  await roster.putUser('bob', { status: bob });
}

/** Stands for `rollcall export | rollcall sync`. */
async function exportInto(store: Store, projectId: string): Promise<void> {
  await fillRoster(await rosterOf(store, projectId), 'deleted');
}

async function projectOf(store: Store, id: string) {
  const project = await store.findProject(id);
  assert.ok(project);
  return project;
}

const rosterOf = async (store: Store, projectId: string) =>
  new Roster(store, (await projectOf(store, projectId)).key);

async function theOnlyProject(store: Store) {
  const [project, ...others] = await store.listProjects(null);
  assert.ok(project !== undefined && others.length === 0);
  return project;
}

const carriedBy = async (store: Store) => (await Array.fromAsync(store.carryOut())).flat();

async function carryAll(records: readonly CarriedRecord[], to: Store) {
  const total = { written: 0, skipped: 0 };
  for (let start = 0; start < records.length; start += 4) {
    const { written, skipped } = await to.carryIn(records.slice(start, start + 4), STAMP);
    total.written += written;
    total.skipped += skipped;
  }
  return total;
}

function presenceAt(
  projectId: string,
  userId: string,
  region: string,
  location: string,
  at: number,
): Carried<'durablePresence'> {
  return { type: 'durablePresence', projectId, groupId: 'g', userId, region, location, at };
}

/** The users found exactly there. */
async function filtered(store: Store, roster: Roster, location: string): Promise<string[]> {
  const found = await store.listDurablePresence(
    roster.key,
    'g',
    { location, partial: false },
    { after: null, limit: 10_000 },
  );
  return found.map(({ userId }) => userId);
}

/** Records as texts that do not depend on the order of fields, in an order of their own: within a kind it is the driver's. */
const sorted = (records: readonly CarriedRecord[]) =>
  records.map((record) => JSON.stringify(Object.fromEntries(Object.entries(record).sort()))).sort();

const equals = (one: CarriedRecord) => (other: CarriedRecord) => sorted([one])[0] === sorted([other])[0];
