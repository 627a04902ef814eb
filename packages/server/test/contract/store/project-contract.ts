import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import { ProjectGoneError } from '../../../src/values/engine-errors.ts';
import type { ProjectKey } from '../../../src/values/project-key.ts';
import { CONTEXT } from '../../support/origin.ts';
import { entriesOf } from './entries.ts';
import { newRoster, Roster, START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const FIRST_PAGE = { after: null, limit: 10 };

export function projectContract(lab: StoreLab): void {
  const customer = async (prefix = 'customer') => {
    const id = unique(prefix);
    await lab.store.customers.create({ id, secret: 's', name: 'N', createdAt: START });
    return id;
  };
  const createProject = (customerId: string, id: string) =>
    lab.store.projects.create({
      id,
      customerId,
      name: `Project ${id}`,
      secret: `secret of ${id}`,
      createdAt: START,
    });

  test('ping resolves while the store is open', async () => {
    await lab.store.ping();
  });

  test('a customer is created once, and a second creation does not change it', async () => {
    const id = unique('customer');
    const first = { id, secret: 'one', name: 'First', createdAt: START };
    assert.equal(await lab.store.customers.create(first), true);
    assert.equal(await lab.store.customers.create({ ...first, secret: 'two', name: 'Second' }), false);
    assert.deepEqual({ ...(await lab.store.customers.find(id)) }, first);
  });

  test('a customer is created with a first project or not at all, and one who exists gets no project', async () => {
    const owner = { id: unique('customer'), secret: 's', name: 'N', createdAt: START };
    const first = { id: unique('project'), customerId: owner.id, name: 'P', secret: 'p', createdAt: START };
    assert.equal(await lab.store.customers.create(owner, first), true);
    const [project] = await lab.store.projects.list(owner.id);
    assert.deepEqual(project, { ...project, ...first, previousSecret: null, previousValidUntil: null });
    assert.deepEqual(await lab.store.projects.find(first.id), project);
    const second = { ...first, id: unique('project') };
    assert.equal(await lab.store.customers.create(owner, second), false);
    assert.equal(await lab.store.projects.find(second.id), null);
    const other = { ...owner, id: unique('customer') };
    await assert.rejects(lab.store.customers.create(other, { ...first, customerId: other.id }));
    assert.equal(await lab.store.customers.find(other.id), null);
  });

  test('a customer who was never created is null', async () => {
    assert.equal(await lab.store.customers.find(unique('nobody')), null);
  });

  test('customers are listed in order of ID, by code point', async () => {
    const prefix = unique('ordered');
    const [last, first] = [await customer(`${prefix}\u{1f600}`), await customer(`${prefix}\u{fb01}`)];
    const ids = (await lab.store.customers.list()).map(({ id }) => id).filter((id) => id.startsWith(prefix));
    assert.deepEqual(ids, [first, last]);
  });

  test('a project is created with its secret and no previous one', async () => {
    const [customerId, id] = [await customer(), unique('project')];
    const made = await createProject(customerId, id);
    assert.ok(made.kind === 'created');
    const { key, ...project } = made.project;
    assert.deepEqual(project, {
      id,
      customerId,
      name: `Project ${id}`,
      secret: `secret of ${id}`,
      previousSecret: null,
      previousValidUntil: null,
      createdAt: START,
    });
    assert.deepEqual({ ...(await lab.store.projects.find(id)) }, { key, ...project });
  });

  test('a project ID that any customer has taken is `exists`, and the project does not change', async () => {
    const id = unique('project');
    const made = await createProject(await customer(), id);
    assert.equal((await createProject(await customer(), id)).kind, 'exists');
    assert.ok(made.kind === 'created');
    assert.deepEqual(await lab.store.projects.find(id), made.project);
  });

  test('a project of a customer who does not exist is `absent`, and is not created', async () => {
    const id = unique('project');
    assert.equal((await createProject(unique('nobody'), id)).kind, 'absent');
    assert.equal(await lab.store.projects.find(id), null);
  });

  test('exactly one of twenty racing creations of one project is `created`', async () => {
    const [customerId, id] = [await customer(), unique('project')];
    const kinds = (await Promise.all(Array.from({ length: 20 }, () => createProject(customerId, id)))).map(
      (o) => o.kind,
    );
    assert.deepEqual(kinds.sort(), ['created', ...Array(19).fill('exists')]);
  });

  test('projects are listed in order of ID: those of one customer, or all', async () => {
    const prefix = unique('listed');
    const [mine, theirs] = [await customer(), await customer()];
    for (const [owner, id] of [
      [mine, `${prefix}c`],
      [theirs, `${prefix}b`],
      [mine, `${prefix}a`],
    ] as const) {
      await createProject(owner, id);
    }
    const ids = async (owner: string | null) =>
      (await lab.store.projects.list(owner)).map(({ id }) => id).filter((id) => id.startsWith(prefix));
    assert.deepEqual(await ids(mine), [`${prefix}a`, `${prefix}c`]);
    assert.deepEqual(await ids(null), [`${prefix}a`, `${prefix}b`, `${prefix}c`]);
    assert.deepEqual(await lab.store.projects.list(unique('nobody')), []);
  });

  test('a renamed project has the new name and is otherwise unchanged', async () => {
    const { key } = await lab.project();
    const before = await projectWith(lab.store, key);
    assert.equal((await lab.store.projects.rename(key, 'Renamed', CONTEXT)).kind, 'updated');
    assert.deepEqual(await projectWith(lab.store, key), { ...before, name: 'Renamed' });
  });

  test('a rotation makes the current secret the previous one, with its end; one previous secret at most is stored, and none that has ended', async () => {
    const { key } = await lab.project();
    const rotate = async (secret: string, previousValidUntil: number) => {
      const outcome = await lab.store.projects.rotateSecret(key, { secret, previousValidUntil }, CONTEXT);
      assert.equal(outcome.kind, 'updated');
      const project = await projectWith(lab.store, key);
      return [project.secret, project.previousSecret, project.previousValidUntil];
    };
    assert.deepEqual(await rotate('second', START + 5), ['second', 'project secret', START + 5]);
    assert.deepEqual(await rotate('third', START + 9), ['third', 'second', START + 9]);
    assert.deepEqual(await rotate('fourth', CONTEXT.now + 1), ['fourth', 'third', CONTEXT.now + 1]);
    assert.deepEqual(await rotate('fifth', CONTEXT.now), ['fifth', null, null]);
  });

  test('a deleted project is gone from every reading, and deleting it again is false', async () => {
    const roster = await lab.project();
    const { id, customerId } = await projectWith(lab.store, roster.key);
    assert.equal(await lab.store.projects.delete(roster.key), true);
    assert.equal(await lab.store.projects.find(id), null);
    assert.deepEqual(await lab.store.projects.list(customerId), []);
    assert.equal(
      (await lab.store.projects.list(null)).some((project) => project.id === id),
      false,
    );
    assert.equal(await lab.store.projects.delete(roster.key), false);
    assert.equal((await lab.store.projects.rename(roster.key, 'N', CONTEXT)).kind, 'absent');
    assert.equal(
      (await lab.store.projects.rotateSecret(roster.key, { secret: 's', previousValidUntil: START }, CONTEXT))
        .kind,
      'absent',
    );
  });

  const writes: Readonly<Record<string, (roster: Roster) => Promise<unknown>>> = {
    putGroup: (roster) => roster.putGroup('group', { name: 'N', members: ['ann'] }),
    changeMembers: (roster) => roster.changeMembers('group', { remove: ['ann'] }),
    deleteGroup: (roster) => roster.deleteGroup('group'),
    connectGroup: (roster) => roster.connectGroup('group', 'W1'),
    putUser: (roster) => roster.putUser('ann', { name: 'N' }),
    deleteUser: (roster) => roster.deleteUser('ann'),
    applyBatch: (roster) => roster.batch({ users: [{ id: 'ann' }] }),
    putPreferences: ({ store, key }) => store.preferences.put(key, 'ann', {}, CONTEXT),
    putDurablePresence: (roster) => putPresence(roster),
    putManyDurablePresences: (roster) => putPresences(roster),
  };
  for (const [name, write] of Object.entries(writes)) {
    test(`${name} with the key of a deleted project rejects with ProjectGoneError, and does not change the project that has the ID now`, async () => {
      const dead = await furnished(lab);
      const { id, customerId } = await projectWith(lab.store, dead.key);
      await lab.store.projects.delete(dead.key);
      await assert.rejects(write(dead), ProjectGoneError);
      const reborn = await createProject(customerId, id);
      assert.ok(reborn.kind === 'created');
      await assert.rejects(write(dead), ProjectGoneError);
      await assertEmpty(new Roster(lab.store, reborn.project.key));
    });
  }

  test('writes that race with the deletion of their project apply before it or reject', async () => {
    const roster = await furnished(lab);
    const racing = [1, 2, 3].map((index) => roster.putUser(`u${index}`, {}));
    const deletion = lab.store.projects.delete(roster.key);
    const late = [4, 5, 6].map((index) => roster.putUser(`u${index}`, {}));
    // Settled from the beginning: some may be rejected before the deletion has resolved.
    const writes = Promise.allSettled([...racing, ...late]);
    assert.equal(await deletion, true);
    for (const outcome of await writes) {
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof ProjectGoneError);
      else assert.equal(outcome.value.kind, 'created');
    }
  });

  test('a project that is created again with the ID of a deleted one is empty and accepts writes', async () => {
    const dead = await furnished(lab);
    const { id, customerId } = await projectWith(lab.store, dead.key);
    await lab.store.projects.delete(dead.key);
    const made = await createProject(customerId, id);
    assert.ok(made.kind === 'created');
    assert.notEqual(made.project.key, dead.key, 'a dead key is never given out again');
    const reborn = new Roster(lab.store, made.project.key);
    await assertEmpty(reborn);
    assert.equal((await reborn.putUser('ann', {})).kind, 'created');
    assert.equal((await reborn.putGroup('group', { name: 'New', members: ['ann'] })).kind, 'created');
    assert.deepEqual(await lab.store.preferences.find(reborn.key, 'ann'), {
      sendViaMessenger: true,
      sendViaEmail: true,
    });
    assert.equal(await lab.store.durablePresence.find(reborn.key, 'group', 'ann'), null);
  });

  test('the deletion of a project changes no other project', async () => {
    const [dead, other] = [await furnished(lab), await furnished(lab)];
    const before = await other.everything();
    await lab.store.projects.delete(dead.key);
    assert.deepEqual(await other.everything(), before);
  });

  test('two projects share no users and groups, also with the same IDs', async () => {
    const [one, two] = [await furnished(lab), await lab.project()];
    await assertEmpty(two);
    await two.users('ann');
    assert.equal((await two.putGroup('group', { name: 'Other' })).kind, 'created');
    const before = await one.everything();
    await two.putUser('ann', { name: 'Other Ann', status: 'deleted' });
    await two.store.preferences.put(two.key, 'ann', { sendViaMessenger: true }, CONTEXT);
    await two.putGroup('group', { status: 'deleted', members: [] });
    assert.deepEqual(await one.everything(), before);
    await two.deleteUser('ann');
    await two.deleteGroup('group');
    assert.deepEqual(await one.everything(), before);
  });

  test("a group cannot name another project's users", async () => {
    const [one, two] = [await furnished(lab), await lab.project()];
    assert.equal((await two.putGroup('group', { name: 'N', members: ['ann'] })).kind, 'unknownUsers');
    assert.equal((await one.putGroup('group', { members: ['ann', 'bob'] })).kind, 'unchanged');
  });
}

/** A project with data of every kind. */
async function furnished(lab: StoreLab): Promise<Roster> {
  const roster = await newRoster(lab.store);
  await roster.groupOf('group', 'ann', 'bob');
  await roster.putUser('ann', { name: 'Ann', metadata: { a: 1 } });
  await lab.store.preferences.put(roster.key, 'ann', { sendViaMessenger: false }, CONTEXT);
  assert.equal((await putPresence(roster)).kind, 'set');
  return roster;
}

const LOCATION = '{"page":"1"}';
const PRESENCE = { userId: 'ann', groupId: 'group', region: LOCATION, location: LOCATION };

const putPresence = (roster: Roster) => roster.store.durablePresence.put(roster.key, PRESENCE, roster.next());

const putPresences = (roster: Roster) =>
  roster.store.durablePresence.putMany(roster.key, [PRESENCE, { ...PRESENCE, userId: 'bob' }], roster.next());

async function assertEmpty({ store, key }: Roster): Promise<void> {
  assert.equal(await store.groups.find(key, 'group'), null);
  assert.equal(await store.groups.exists(key, 'group'), false);
  assert.equal(await store.users.find(key, 'ann'), null);
  assert.equal(await store.preferences.find(key, 'ann'), null);
  assert.equal(await store.members.list(key, 'group', FIRST_PAGE), null);
  assert.equal(await store.members.listGroups(key, 'ann', FIRST_PAGE), null);
  assert.deepEqual(await entriesOf((page) => store.groups.list(key, page)), []);
  assert.deepEqual(await store.users.list(key, FIRST_PAGE), { items: '', count: 0, last: null, total: 0 });
  assert.deepEqual(await store.eligibility.find(key, 'group', 'ann'), {
    user: null,
    group: null,
    incarnation: null,
  });
  assert.equal((await store.eligibility.filter(key, 'group', ['ann', 'bob'])).size, 0);
  assert.deepEqual(await store.durablePresence.list(key, 'group', null, FIRST_PAGE), []);
  assert.equal(await store.durablePresence.find(key, 'group', 'ann'), null);
}

async function projectWith(store: Store, key: ProjectKey) {
  const project = (await store.projects.list(null)).find((candidate) => candidate.key === key);
  assert.ok(project, 'the project is listed');
  assert.deepEqual(await store.projects.find(project.id), project);
  return project;
}
