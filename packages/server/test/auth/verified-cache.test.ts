import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import { mintProjectToken } from '../../src/auth/sign.ts';
import { VerifiedCache } from '../../src/auth/verified-cache.ts';
import type { Caller } from '../../src/core/caller.ts';
import type { Store } from '../../src/store/store.ts';
import { altered } from '../http/app-case.ts';
import { BY_TEST, CONTEXT } from '../support/origin.ts';
import { type AuthCase, assertTokenFailure, CUSTOMER, PROJECT, withAuth } from './auth-case.ts';
import { forgedToken } from './forged-token.ts';

const owner = { customerId: CUSTOMER.id, ...BY_TEST };

const bearer = async ({ clock }: AuthCase) =>
  `Bearer ${await mintProjectToken(PROJECT.id, PROJECT.secret, clock.now())}`;

test('a verified Authorization header is answered without a promise for a second', () =>
  withAuth(async (auth) => {
    const { authenticator, clock } = auth;
    const header = await bearer(auth);
    const first = authenticator.authenticate(header);
    assert.ok(first instanceof Promise);
    const caller = await first;
    assert.equal(authenticator.authenticate(header), caller);
    clock.move(999);
    assert.equal(authenticator.authenticate(header), caller);
    clock.move(1);
    const again = authenticator.authenticate(header);
    assert.ok(again instanceof Promise);
    assert.deepEqual(await again, caller);
  }));

test('one read of a project each second is enough for all of its tokens', () =>
  withAuth(async (auth) => {
    const { authenticator, clock, seconds } = auth;
    const project = await bearer(auth);
    const pages = ['ada', 'grace'].map((user_id) => {
      const claims = { project_id: PROJECT.id, user_id, iat: seconds() };
      return `Bearer ${forgedToken(claims, { secret: PROJECT.secret })}`;
    });
    await authenticator.authenticate(project);
    for (const page of pages) await authenticator.authenticateClient(page);
    for (let second = 0; second < 3; second += 1) {
      clock.move(1_000);
      const reading = authenticator.authenticate(project);
      assert.ok(reading instanceof Promise);
      await reading;
      clock.move(999);
      for (const page of pages) assert.ok(!(authenticator.authenticateClient(page) instanceof Promise));
    }
  }));

test('a credential change of another process takes effect within a second, also for tokens that are used all the time', () =>
  withAuth(async (auth) => {
    const { authenticator, clock, store, project, seconds } = auth;
    const header = await bearer(auth);
    const page = `Bearer ${forgedToken({ project_id: PROJECT.id, user_id: 'ada', iat: seconds() }, { secret: PROJECT.secret })}`;
    await authenticator.authenticate(header);
    await authenticator.authenticateClient(page);
    clock.move(900);
    await authenticator.authenticate(header);
    await store.projects.rotateSecret(
      project.key,
      { secret: 'a new secret', previousValidUntil: clock.now() },
      CONTEXT,
    );
    clock.move(99);
    await authenticator.authenticateClient(page);
    clock.move(1);
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
    await assertTokenFailure(() => authenticator.authenticateClient(page), 'invalid_project_token');
  }));

test('a read of a project that is answered after a later one renews no token of an earlier secret', () =>
  withAuth(async (auth) => {
    const { clock, store, project, seconds } = auth;
    const gate = Promise.withResolvers<void>();
    const reading = Promise.withResolvers<void>();
    const delayed = delayedStore(store, reading, gate);
    const authenticator = createAuthenticator({ ...auth, store: delayed });
    const header = await bearer(auth);
    const late = authenticator.authenticate(header);
    await reading.promise;
    const secret = 'a new secret';
    await store.projects.rotateSecret(project.key, { secret, previousValidUntil: clock.now() }, CONTEXT);
    const next = `Bearer ${forgedToken({ project_id: PROJECT.id, iat: seconds() }, { secret })}`;
    const caller = await authenticator.authenticate(next);
    gate.resolve();
    await late;
    assert.equal(authenticator.authenticate(next), caller);
    clock.move(1_000);
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
    authenticator.close();
  }));

test('a credential change of this process takes effect at once', () =>
  withAuth(async (auth) => {
    const { authenticator, projects, seconds } = auth;
    const header = await bearer(auth);
    const page = `Bearer ${forgedToken({ project_id: PROJECT.id, user_id: 'ada', iat: seconds() }, { secret: PROJECT.secret })}`;
    await authenticator.authenticate(header);
    await authenticator.authenticateClient(page);
    await projects.rotateSecret(owner, PROJECT.id, 0);
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
    await assertTokenFailure(() => authenticator.authenticateClient(page), 'invalid_project_token');
    await projects.remove(owner, PROJECT.id);
    await assertTokenFailure(() => authenticator.authenticate(header), 'project_not_found');
  }));

test('a cached token ends with its exp, and with its previous secret', () =>
  withAuth(async (auth) => {
    const { authenticator, clock, projects, seconds } = auth;
    const ending = `Bearer ${forgedToken({ project_id: PROJECT.id, exp: seconds() - 30 + 0.5 }, { secret: PROJECT.secret })}`;
    await authenticator.authenticate(ending);
    clock.move(500);
    await assertTokenFailure(() => authenticator.authenticate(ending), 'invalid_project_token');

    const header = await bearer(auth);
    await projects.rotateSecret(owner, PROJECT.id, 1);
    clock.move(999);
    await authenticator.authenticate(header);
    clock.move(1);
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
  }));

test('a clock that is set back empties the cache of verified tokens', () =>
  withAuth(async (auth) => {
    const { authenticator, clock } = auth;
    const header = await bearer(auth);
    await authenticator.authenticate(header);
    clock.jump(-10_000);
    assert.ok(authenticator.authenticate(header) instanceof Promise);
  }));

test('a token whose project changes while it is verified is not cached', () =>
  withAuth(async (auth) => {
    const { projects } = auth;
    const gate = Promise.withResolvers<void>();
    const reading = Promise.withResolvers<void>();
    const authenticator = createAuthenticator({ ...auth, store: delayedStore(auth.store, reading, gate) });
    const header = await bearer(auth);
    const overtaken = authenticator.authenticate(header);
    await reading.promise;
    await projects.rotateSecret(owner, PROJECT.id, 0);
    gate.resolve();
    await overtaken;
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
    authenticator.close();
  }));

/** The store; the first read of a project waits at the gate before it returns. */
function delayedStore(
  store: Store,
  reading: PromiseWithResolvers<void>,
  gate: PromiseWithResolvers<void>,
): Store {
  let isRead = false;
  const projects = altered(store.projects, {
    async find(id: string) {
      const project = await store.projects.find(id);
      const isFirst = !isRead;
      isRead = true;
      reading.resolve();
      if (isFirst) await gate.promise;
      return project;
    },
  });
  return altered(store, { projects });
}

test('a token that is rejected with project_not_found is verified again', () =>
  withAuth(async (auth) => {
    const { authenticator, store } = auth;
    const header = `Bearer ${await mintProjectToken('later', PROJECT.secret, auth.clock.now())}`;
    await assertTokenFailure(() => authenticator.authenticate(header), 'project_not_found');
    await store.projects.create({ ...PROJECT, id: 'later' });
    assert.equal((await authenticator.authenticate(header)).projectId, 'later');
  }));

/** Headers that fill the cache of verified tokens: each counts as 4,400 bytes. */
const FULL = Math.ceil(40_000_000 / 4_400);
const longHeader = (name: string) => name.padEnd(2_000);

test('the cache of verified tokens has room for 40,000 pages, and takes 40 MB at most: the oldest are removed, headers of more than 2,048 characters are not stored', () => {
  const cache = new VerifiedCache<Caller>();
  const caller = { actor: BY_TEST.actor, projectId: PROJECT.id, project: 1, sessionId: null };
  const verified = { caller, basis: { readAt: 1_000 }, endsAt: 5_000 };
  const put = (header: string) => cache.put(header, verified, 1_000, cache.generation);
  const page = (index: number) => `page ${index}`.padEnd(250);
  for (let index = 0; index < 40_000; index += 1) put(page(index));
  assert.equal(cache.find(page(0), 1_000), caller);
  for (let index = 0; index < FULL; index += 1) put(longHeader(`header ${index}`));
  assert.equal(cache.find(page(0), 1_000), undefined);
  assert.equal(cache.find(longHeader('header 0'), 1_000), caller);
  put(longHeader('another'));
  assert.equal(cache.find(longHeader('header 0'), 1_000), undefined);
  assert.equal(cache.find(longHeader('header 1'), 1_000), caller);
  put('x'.repeat(2_049));
  assert.equal(cache.find('x'.repeat(2_049), 1_000), undefined);
  put('x'.repeat(2_048));
  assert.equal(cache.find('x'.repeat(2_048), 1_000), caller);
  cache.clear();
  for (let index = 0; index < FULL; index += 1) put(longHeader(`header ${index}`));
  assert.equal(cache.find(longHeader('header 0'), 1_000), caller);
});

test('where the cache of verified tokens is full, those that were not used for a second are removed first', () => {
  const cache = new VerifiedCache<Caller>();
  const caller = { actor: BY_TEST.actor, projectId: PROJECT.id, project: 1, sessionId: null };
  const put = (name: string, now: number) =>
    cache.put(longHeader(name), { caller, basis: { readAt: now }, endsAt: 9_000 }, now, cache.generation);
  const find = (name: string, now: number) => cache.find(longHeader(name), now);
  for (let index = 0; index < FULL; index += 1) put(`header ${index}`, 1_000);
  for (const used of ['header 0', 'header 7']) put(used, 2_500);
  for (let index = 0; index < FULL - 2; index += 1) put(`later ${index}`, 2_600);
  for (const name of ['header 0', 'header 7', 'later 0', `later ${FULL - 3}`])
    assert.equal(find(name, 2_600), caller, name);
  assert.equal(find('header 7', 3_499), caller);
  assert.equal(find('header 7', 3_500), undefined);
});

test('a closed authenticator is no longer subscribed to the broker', () =>
  withAuth(async (auth) => {
    const { authenticator, broker } = auth;
    const header = await bearer(auth);
    authenticator.close();
    const caller = await authenticator.authenticate(header);
    await broker.publish({ type: 'project', projectId: PROJECT.id });
    assert.equal(authenticator.authenticate(header), caller);
    authenticator.close();
  }));
