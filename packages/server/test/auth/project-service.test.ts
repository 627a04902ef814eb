import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintProjectToken } from '../../src/auth/sign.ts';
import type { Notification } from '../../src/broker/broker.ts';
import { BY_TEST } from '../support/origin.ts';
import { assertTokenFailure, CUSTOMER, PROJECT, rejection, withAuth } from './auth-case.ts';

const owner = { customerId: CUSTOMER.id, ...BY_TEST };
const stranger = { customerId: 'globex', ...BY_TEST };
const DAY_MS = 86_400_000;

test('a customer creates, lists, reads and renames projects', () =>
  withAuth(async ({ projects, clock }) => {
    const made = await projects.create(owner, { name: 'Docs' });
    assert.match(made.id, /^prj_[\w-]{16}$/);
    assert.match(made.secret, /^[\w-]{64}$/);
    const shown = { id: made.id, name: 'Docs', createdAt: clock.now() };
    assert.deepEqual(await projects.get(owner, made.id), shown);
    assert.deepEqual(
      (await projects.list(owner)).map(({ id }) => id),
      [made.id, PROJECT.id].sort(),
    );
    await projects.rename(owner, made.id, 'Handbook');
    assert.deepEqual(await projects.get(owner, made.id), { ...shown, name: 'Handbook' });
  }));

test('a new project is open to tokens signed with the secret that was shown', () =>
  withAuth(async ({ projects, authenticator, clock }) => {
    const { id, secret } = await projects.create(owner, { name: 'Docs' });
    const header = `Bearer ${await mintProjectToken(id, secret, clock.now())}`;
    assert.equal((await authenticator.authenticate(header)).projectId, id);
  }));

test('two projects never share an ID or a secret', () =>
  withAuth(async ({ projects }) => {
    const made = await Promise.all(
      Array.from({ length: 10 }, () => projects.create(owner, { name: 'Docs' })),
    );
    assert.equal(new Set(made.flatMap(({ id, secret }) => [id, secret])).size, 20);
  }));

test("another customer's project is project_not_found, like one that does not exist, and does not change", () =>
  withAuth(async ({ projects, store }) => {
    await store.customers.create({ ...CUSTOMER, id: stranger.customerId });
    assert.deepEqual(await projects.list(stranger), []);
    const attempts = [
      (caller: typeof owner, id: string) => projects.get(caller, id),
      (caller: typeof owner, id: string) => projects.rename(caller, id, 'Mine'),
      (caller: typeof owner, id: string) => projects.remove(caller, id),
      (caller: typeof owner, id: string) => projects.rotateSecret(caller, id),
    ];
    for (const attempt of attempts) {
      for (const [caller, id] of [
        [stranger, PROJECT.id],
        [owner, 'nobody'],
      ] as const) {
        const error = await rejection(() => attempt(caller, id));
        assert.deepEqual([error.code, error.status, error.headers], ['project_not_found', 401, {}]);
      }
    }
    const { secret, name } = (await store.projects.find(PROJECT.id)) ?? {};
    assert.deepEqual([secret, name], [PROJECT.secret, PROJECT.name]);
  }));

test('a rotated secret is accepted for a day by default, to the millisecond', () =>
  withAuth(async ({ projects, authenticator, clock }) => {
    const rotated = await projects.rotateSecret(owner, PROJECT.id);
    assert.equal(rotated.previousValidUntil, clock.now() + DAY_MS);
    clock.move(DAY_MS - 1);
    const token = (secret: string) => mintProjectToken(PROJECT.id, secret, clock.now());
    const [old, fresh] = [`Bearer ${await token(PROJECT.secret)}`, `Bearer ${await token(rotated.secret)}`];
    assert.equal((await authenticator.authenticate(old)).projectId, PROJECT.id);
    assert.equal((await authenticator.authenticate(fresh)).projectId, PROJECT.id);
    clock.move(1);
    await assertTokenFailure(() => authenticator.authenticate(old), 'invalid_project_token');
    assert.equal((await authenticator.authenticate(fresh)).projectId, PROJECT.id);
  }));

test('a rotation with an overlap of 0 ends the old secret at once', () =>
  withAuth(async ({ projects, authenticator, clock }) => {
    const { previousValidUntil } = await projects.rotateSecret(owner, PROJECT.id, 0);
    assert.equal(previousValidUntil, clock.now());
    const header = `Bearer ${await mintProjectToken(PROJECT.id, PROJECT.secret, clock.now())}`;
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
  }));

test('at most two secrets of a project are accepted: a second rotation ends the first secret', () =>
  withAuth(async ({ projects, authenticator, clock }) => {
    const second = await projects.rotateSecret(owner, PROJECT.id);
    await projects.rotateSecret(owner, PROJECT.id);
    const header = async (secret: string) =>
      `Bearer ${await mintProjectToken(PROJECT.id, secret, clock.now())}`;
    const first = await header(PROJECT.secret);
    await assertTokenFailure(() => authenticator.authenticate(first), 'invalid_project_token');
    assert.equal((await authenticator.authenticate(await header(second.secret))).projectId, PROJECT.id);
  }));

test('deleting a project ends its tokens and its presence', () =>
  withAuth(async ({ projects, presence, project, authenticator, clock }) => {
    const location = '{"page":"home"}';
    const scope = { project: project.key, groupId: 'team' };
    const now = clock.now();
    await presence.set({
      ...scope,
      userId: 'ada',
      incarnation: 1,
      region: location,
      location,
      expiresAt: now + 30_000,
      now,
    });
    const header = `Bearer ${await mintProjectToken(PROJECT.id, PROJECT.secret, now)}`;
    await authenticator.authenticate(header);
    await projects.remove(owner, PROJECT.id);
    await assertTokenFailure(() => authenticator.authenticate(header), 'project_not_found');
    const { locations } = await presence.locationsOf({ ...scope, userId: 'ada', incarnation: 1, now });
    assert.deepEqual(locations, []);
    assert.deepEqual(await projects.list(owner), []);
  }));

test('a rename, a rotation and a deletion of a project are each published once', () =>
  withAuth(async ({ projects, broker }) => {
    const received: Notification[] = [];
    const stop = broker.subscribe((change) => received.push(change));
    await projects.get(owner, PROJECT.id);
    await projects.rename(owner, PROJECT.id, 'Wiki 2');
    await projects.rotateSecret(owner, PROJECT.id);
    await projects.remove(owner, PROJECT.id);
    assert.deepEqual(received, Array(3).fill({ type: 'project', projectId: PROJECT.id }));
    stop();
  }));
