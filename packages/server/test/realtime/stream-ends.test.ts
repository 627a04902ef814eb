import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { writeContext } from '../../src/core/changes/write-context.ts';
import { ServiceError } from '../../src/core/service-error.ts';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import { BY_TEST } from '../support/origin.ts';
import { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

describe('the end of a stream', () => {
  const rejection = new ServiceError('expired_access_token', 'expired');

  test('a stream that has ended before its first text has the error as its only event', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const session = await world.session();
      session.end(rejection);
      const sink = new SimulatedSink();
      session.start(new SseSink(sink));
      assert.deepEqual(
        sink.parser.events.map(({ type, data }) => [type, data.error]),
        [['error', 'expired_access_token']],
      );
    }));

  test('a stream whose token is no longer accepted ends within a minute', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const checks: number[] = [];
      let isRevoked = false;
      const sinks = await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          world.open({
            checkCredentials: () => {
              checks.push(index);
              if (isRevoked && index === 7) throw rejection;
            },
          }),
        ),
      );
      // A process that begins to follow the record of a project checks all streams once.
      await world.pass(1);
      await world.until('the check of all streams', () => new Set(checks).size === 120);
      checks.length = 0;
      isRevoked = true;
      for (let second = 0; second < 60; second += 1) {
        world.clock.move(1_000);
        await nextIteration();
      }
      assert.equal(new Set(checks).size, 120);
      assert.ok(checks.length <= 250, `checks ${checks.length} times`);
      assert.deepEqual(sinks[7]?.parser.events.at(-1)?.data, {
        error: 'expired_access_token',
        message: 'expired',
      });
      assert.equal(sinks.filter(({ ended }) => ended !== null).length, 1);
    }));

  test('a stream of a group that was removed without an event ends within a minute', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const sinks = [await world.open(), await world.open({ viewer: { userId: 'a' } })];
      await world.engine.store.groups.delete(world.project, 'g', writeContext(world.clock, BY_TEST));
      for (let second = 0; second < 60; second += 1) {
        world.clock.move(1_000);
        await nextIteration();
      }
      await world.until('the ends', () => sinks.every(({ ended }) => ended !== null));
      for (const { parser } of sinks) assert.equal(parser.events.at(-1)?.data.error, 'group_not_found');
    }));

  for (const [who, checks] of [
    ['a host', {}],
    ['a viewer', { viewer: { userId: 'a' } }],
  ] as const) {
    test(`a stream is not opened for ${who} when the group is removed meanwhile`, () =>
      withStreams({ users: ['a'] }, async (world) => {
        const other = await world.open();
        const { store } = world.engine;
        const list = store.durablePresence.list.bind(store);
        const reads = Promise.withResolvers<void>();
        const released = Promise.withResolvers<void>();
        // The group of before is read, and returned late, this time only.
        store.durablePresence.list = async (...args) => {
          store.durablePresence.list = list;
          const page = await list(...args);
          reads.resolve();
          await released.promise;
          return page;
        };
        const filter = { location: { location: '{"page":"1"}', partial: true }, excludeDurable: false };
        const rejected = assert.rejects(world.open({ filter, ...checks }), { code: 'group_not_found' });
        await reads.promise;
        await world.services.groups.remove({ project: world.project, ...BY_TEST }, 'g', {});
        await world.until('the end of the other', () => other.ended !== null);
        released.resolve();
        await rejected;
      }));
  }

  test('a stream is checked at once when the project or the session of its token changes', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { actor } = BY_TEST;
      const caller = { actor, projectId: 'test-project', project: world.project, sessionId: 's' };
      let checks = 0;
      const checkCredentials = () => {
        checks += 1;
      };
      await world.open({ caller, checkCredentials });
      const { broker } = world.engine;
      await broker.publish({ type: 'project', projectId: 'another' });
      await broker.publish({ type: 'session', sessionId: 'another' });
      assert.equal(checks, 0);
      await broker.publish({ type: 'session', sessionId: 's' });
      await broker.publish({ type: 'project', projectId: 'test-project' });
      await world.until('both', () => checks === 2);
    }));

  test('a server that stops does not release what connectionIDs hold: their pages reconnect to another server', () =>
    withStreams({ users: ['a'] }, async (world) => {
      await world.put('a', { location: { page: '1' }, connectionID: 'tab' });
      const sink = await world.open({ viewer: { userId: 'a' }, connection: 'tab' });
      world.hubs[0]?.stop();
      assert.notEqual(sink.ended, null);
      await world.pass(5);
      const reading = { ...world.scope, filter: null, after: null, limit: 1, now: world.clock.now() };
      assert.equal((await world.engine.presence.find(reading)).users.length, 1);
    }));

  test('an engine that is away ends no stream', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const away = () => Promise.reject(new Error('away'));
      const sink = await world.open({ checkCredentials: away });
      await world.engine.broker.publish({ type: 'project', projectId: 'test-project' });
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      assert.equal(sink.ended, null);
    }));
});

describe('a viewer', () => {
  const ENDINGS: Readonly<Record<string, [code: string, end: (world: StreamWorld) => Promise<unknown>]>> = {
    'is deleted': [
      'user_not_found',
      ({ services, project }) => services.users.remove({ project, ...BY_TEST }, 'a', {}),
    ],
    'is set deleted': [
      'user_not_found',
      ({ services, project }) => services.users.put({ project, ...BY_TEST }, 'a', { status: 'deleted' }, {}),
    ],
    'stops being a member': [
      'group_not_found',
      ({ services, project }) =>
        services.memberships.change({ project, ...BY_TEST }, 'g', { remove: ['a'] }, {}),
    ],
    'has their group set deleted': [
      'group_not_found',
      ({ services, project }) => services.groups.put({ project, ...BY_TEST }, 'g', { status: 'deleted' }, {}),
    ],
    'has their group deleted': [
      'group_not_found',
      ({ services, project }) => services.groups.remove({ project, ...BY_TEST }, 'g', {}),
    ],
  };

  for (const [name, [code, end]] of Object.entries(ENDINGS)) {
    test(`the stream of a viewer who ${name} ends, and other streams continue`, () =>
      withStreams({ users: ['a', 'b'] }, async (world) => {
        const sink = await world.open({ viewer: { userId: 'a' } });
        const host = await world.open();
        await end(world);
        await world.until('the end', () => sink.ended !== null);
        assert.equal(sink.parser.events.at(-1)?.data.error, code);
        if (name !== 'has their group deleted') assert.equal(host.ended, null);
        await assert.rejects(world.open({ viewer: { userId: 'a' } }), { code });
      }));
  }
});
