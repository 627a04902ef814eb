import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProjectGoneError, type ProjectKey, type Store } from '../../../src/store/store.ts';
import { entriesOf } from './entries.ts';
import { newRoster, Roster, START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const FIRST_PAGE = { after: null, limit: 10 };

export function projectContract(lab: StoreLab): void {
  const customer = async (prefix = 'customer') => {
    const id = unique(prefix);
    await lab.store.createCustomer({ id, secret: 's', name: 'N', createdAt: START });
    return id;
  };
  const createProject = (customerId: string, id: string) =>
    lab.store.createProject({
      id,
      customerId,
      name: `Project ${id}`,
      secret: `secret of ${id}`,
      createdAt: START,
    });

  test('the store answers', async () => {
    await lab.store.ping();
  });

  test('a customer is created once, and left as it is after that', async () => {
    const id = unique('customer');
    const first = { id, secret: 'one', name: 'First', createdAt: START };
    assert.equal(await lab.store.createCustomer(first), true);
    assert.equal(await lab.store.createCustomer({ ...first, secret: 'two', name: 'Second' }), false);
    assert.deepEqual({ ...(await lab.store.findCustomer(id)) }, first);
  });

  test('a customer who was never created is null', async () => {
    assert.equal(await lab.store.findCustomer(unique('nobody')), null);
  });

  test('customers are listed in order of ID, by code point', async () => {
    const prefix = unique('ordered');
    const [last, first] = [await customer(`${prefix}\u{1f600}`), await customer(`${prefix}\u{fb01}`)];
    const ids = (await lab.store.listCustomers()).map(({ id }) => id).filter((id) => id.startsWith(prefix));
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
    assert.deepEqual({ ...(await lab.store.findProject(id)) }, { key, ...project });
  });

  test('a project ID that any customer has taken is `exists`, and the project is left as it is', async () => {
    const id = unique('project');
    const made = await createProject(await customer(), id);
    assert.equal((await createProject(await customer(), id)).kind, 'exists');
    assert.ok(made.kind === 'created');
    assert.deepEqual(await lab.store.findProject(id), made.project);
  });

  test('a project of a customer who does not exist is `absent`, and is not made', async () => {
    const id = unique('project');
    assert.equal((await createProject(unique('nobody'), id)).kind, 'absent');
    assert.equal(await lab.store.findProject(id), null);
  });

  test('of twenty racing creations of one project exactly one is `created`', async () => {
    const [customerId, id] = [await customer(), unique('project')];
    const kinds = (await Promise.all(Array.from({ length: 20 }, () => createProject(customerId, id)))).map(
      (o) => o.kind,
    );
    assert.deepEqual(kinds.sort(), ['created', ...Array(19).fill('exists')]);
  });

  test("projects are listed in order of ID: one customer's, or everybody's", async () => {
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
      (await lab.store.listProjects(owner)).map(({ id }) => id).filter((id) => id.startsWith(prefix));
    assert.deepEqual(await ids(mine), [`${prefix}a`, `${prefix}c`]);
    assert.deepEqual(await ids(null), [`${prefix}a`, `${prefix}b`, `${prefix}c`]);
    assert.deepEqual(await lab.store.listProjects(unique('nobody')), []);
  });

  test('a renamed project has the new name and nothing else new', async () => {
    const { key } = await lab.project();
    const before = await projectWith(lab.store, key);
    assert.equal(await lab.store.renameProject(key, 'Renamed'), true);
    assert.deepEqual(await projectWith(lab.store, key), { ...before, name: 'Renamed' });
  });

  test('rotating makes the current secret the previous one, with its end; only one previous is kept', async () => {
    const { key } = await lab.project();
    assert.equal(await lab.store.rotateSecret(key, 'second', START + 5), true);
    const once = await projectWith(lab.store, key);
    assert.deepEqual(
      [once.secret, once.previousSecret, once.previousValidUntil],
      ['second', 'project secret', START + 5],
    );
    assert.equal(await lab.store.rotateSecret(key, 'third', START + 9), true);
    const twice = await projectWith(lab.store, key);
    assert.deepEqual(
      [twice.secret, twice.previousSecret, twice.previousValidUntil],
      ['third', 'second', START + 9],
    );
  });

  test('a deleted project is gone from every reading, and deleting it again is false', async () => {
    const roster = await lab.project();
    const { id, customerId } = await projectWith(lab.store, roster.key);
    assert.equal(await lab.store.deleteProject(roster.key), true);
    assert.equal(await lab.store.findProject(id), null);
    assert.deepEqual(await lab.store.listProjects(customerId), []);
    assert.equal(
      (await lab.store.listProjects(null)).some((project) => project.id === id),
      false,
    );
    assert.equal(await lab.store.deleteProject(roster.key), false);
    assert.equal(await lab.store.renameProject(roster.key, 'N'), false);
    assert.equal(await lab.store.rotateSecret(roster.key, 's', START), false);
  });

  const writes: Readonly<Record<string, (roster: Roster) => Promise<unknown>>> = {
    putGroup: (roster) => roster.putGroup('group', { name: 'N', members: ['ann'] }),
    changeMembers: (roster) => roster.changeMembers('group', { remove: ['ann'] }),
    deleteGroup: (roster) => roster.deleteGroup('group'),
    connectGroup: (roster) => roster.connectGroup('group', 'W1'),
    putUser: (roster) => roster.putUser('ann', { name: 'N' }),
    deleteUser: (roster) => roster.deleteUser('ann'),
    applyBatch: (roster) => roster.batch({ users: [{ id: 'ann' }] }),
    putPreferences: ({ store, key }) => store.putPreferences(key, 'ann', {}),
    putDurablePresence: (roster) => putPresence(roster),
  };
  for (const [name, write] of Object.entries(writes)) {
    test(`${name} with a dead key rejects with ProjectGoneError, and leaves who has the ID now alone`, async () => {
      const dead = await furnished(lab);
      const { id, customerId } = await projectWith(lab.store, dead.key);
      await lab.store.deleteProject(dead.key);
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
    const deletion = lab.store.deleteProject(roster.key);
    const late = [4, 5, 6].map((index) => roster.putUser(`u${index}`, {}));
    // Settled from the beginning: some may be rejected before the deletion has resolved.
    const writes = Promise.allSettled([...racing, ...late]);
    assert.equal(await deletion, true);
    for (const outcome of await writes) {
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof ProjectGoneError);
      else assert.equal(outcome.value.kind, 'created');
    }
  });

  test('a project made again under the same ID is empty and keeps what is written to it', async () => {
    const dead = await furnished(lab);
    const { id, customerId } = await projectWith(lab.store, dead.key);
    await lab.store.deleteProject(dead.key);
    const made = await createProject(customerId, id);
    assert.ok(made.kind === 'created');
    assert.notEqual(made.project.key, dead.key, 'a dead key is never given out again');
    const reborn = new Roster(lab.store, made.project.key);
    await assertEmpty(reborn);
    assert.equal((await reborn.putUser('ann', {})).kind, 'created');
    assert.equal((await reborn.putGroup('group', { name: 'New', members: ['ann'] })).kind, 'created');
    assert.deepEqual(await lab.store.findPreferences(reborn.key, 'ann'), {
      sendViaMessenger: true,
      sendViaEmail: true,
    });
    assert.equal(await lab.store.findDurablePresence(reborn.key, 'group', 'ann'), null);
  });

  test('deleting a project leaves every other as it was', async () => {
    const [dead, other] = [await furnished(lab), await furnished(lab)];
    const before = await other.everything();
    await lab.store.deleteProject(dead.key);
    assert.deepEqual(await other.everything(), before);
  });

  test('two projects with the same IDs share nothing', async () => {
    const [one, two] = [await furnished(lab), await lab.project()];
    await assertEmpty(two);
    await two.users('ann');
    assert.equal((await two.putGroup('group', { name: 'Other' })).kind, 'created');
    const before = await one.everything();
    await two.putUser('ann', { name: 'Other Ann', status: 'deleted' });
    await two.store.putPreferences(two.key, 'ann', { sendViaMessenger: true });
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

/** A project with something of everything in it. */
async function furnished(lab: StoreLab): Promise<Roster> {
  const roster = await newRoster(lab.store);
  await roster.groupOf('group', 'ann', 'bob');
  await roster.putUser('ann', { name: 'Ann', metadata: { a: 1 } });
  await lab.store.putPreferences(roster.key, 'ann', { sendViaMessenger: false });
  assert.equal((await putPresence(roster)).kind, 'set');
  return roster;
}

function putPresence(roster: Roster) {
  const place = '{"page":"1"}';
  const update = { userId: 'ann', groupId: 'group', region: place, location: place };
  return roster.store.putDurablePresence(roster.key, update, roster.next());
}

async function assertEmpty({ store, key }: Roster): Promise<void> {
  assert.equal(await store.findGroup(key, 'group'), null);
  assert.equal(await store.groupExists(key, 'group'), false);
  assert.equal(await store.findUser(key, 'ann'), null);
  assert.equal(await store.findPreferences(key, 'ann'), null);
  assert.equal(await store.listMembers(key, 'group', FIRST_PAGE), null);
  assert.equal(await store.listUserGroups(key, 'ann', FIRST_PAGE), null);
  assert.deepEqual(await entriesOf((page) => store.listGroups(key, page)), []);
  assert.deepEqual(await store.listUsers(key, FIRST_PAGE), { items: '', count: 0, last: null, total: 0 });
  assert.deepEqual(await store.standing(key, 'group', 'ann'), { user: null, group: null, incarnation: null });
  assert.equal((await store.presentable(key, 'group', ['ann', 'bob'])).size, 0);
  assert.deepEqual(await store.listDurablePresence(key, 'group', null, FIRST_PAGE), []);
  assert.equal(await store.findDurablePresence(key, 'group', 'ann'), null);
}

async function projectWith(store: Store, key: ProjectKey) {
  const project = (await store.listProjects(null)).find((candidate) => candidate.key === key);
  assert.ok(project, 'the project is listed');
  assert.deepEqual(await store.findProject(project.id), project);
  return project;
}
