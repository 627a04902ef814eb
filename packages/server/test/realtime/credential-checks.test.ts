import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { writeContext } from '../../src/core/changes/write-context.ts';
import { ServiceError } from '../../src/core/service-error.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { BY_TEST } from '../support/origin.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const STREAMS = 200;

/** Counts the reads of the Store about access to groups. */
function counted(store: Store): { reads: number } {
  const count = { reads: 0 };
  for (const [port, name] of [
    [store.groups, 'exists'],
    [store.eligibility, 'find'],
    [store.eligibility, 'findMany'],
  ] as const) {
    const method = Reflect.get(port, name) as (...args: unknown[]) => Promise<never>;
    Object.assign(port, {
      [name]: (...args: unknown[]) => {
        count.reads += 1;
        return method(...args);
      },
    });
  }
  return count;
}

const changed = ({ engine }: StreamWorld) =>
  engine.broker.publish({ type: 'project', projectId: 'test-project' });

const ticks = async () => {
  for (let tick = 0; tick < 20; tick += 1) await nextIteration();
};

/** Waits for the check of all streams that follows when a process begins to follow the record of a project. */
async function followed(world: StreamWorld, isChecked: () => boolean): Promise<void> {
  await world.pass(1);
  await world.until('the check of all streams', isChecked);
  await ticks();
}

describe('the credentials of open streams', () => {
  test("streams with the same token are one check, and the access of a group's readers is one read of the store", () =>
    withStreams({}, async (world) => {
      const ids = Array.from({ length: STREAMS / 2 }, (_, index) => `u${index}`);
      await world.seed(ids);
      const checks = { host: 0, viewers: 0 };
      const as = (who: 'host' | 'viewers', credentials: string) => ({
        credentials,
        checkCredentials() {
          checks[who] += 1;
        },
      });
      for (const userId of ids) {
        await world.open(as('host', 'host'));
        await world.open({ viewer: { userId }, ...as('viewers', userId) });
      }
      await followed(world, () => checks.viewers >= ids.length);
      Object.assign(checks, { host: 0, viewers: 0 });
      const count = counted(world.engine.store);
      await changed(world);
      await world.until('all checks', () => checks.viewers === ids.length && count.reads === 2);
      await ticks();
      assert.deepEqual(checks, { host: 1, viewers: ids.length });
      assert.equal(count.reads, 2);
      await world.pass(60);
      // Four streams a second: two hosts, and two viewers.
      assert.ok(count.reads <= 2 + 2 * 60, `${count.reads} reads`);
      assert.ok(checks.host <= 1 + 60, `${checks.host} times`);
      assert.ok(checks.viewers >= 2 * ids.length, 'every viewer once more');
    }));

  test('a token that is rejected after it was renewed ends nothing', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const rejection = Promise.withResolvers<never>();
      const socket = { credentials: 'old', checkCredentials: () => rejection.promise };
      const session = await world.session(socket);
      await changed(world);
      await ticks();
      Object.assign(session.request, { credentials: 'new', checkCredentials: () => {} });
      rejection.reject(new ServiceError('expired_access_token', 'expired'));
      await ticks();
      assert.equal(session.ending, null);
    }));

  test('a rejected token ends all streams that were opened with it, and no others', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const reject = () => {
        throw new ServiceError('expired_access_token', 'expired');
      };
      const open = (credentials: string, checkCredentials: () => void) =>
        world.open({ credentials, checkCredentials });
      const rejected = [await open('x', reject), await open('x', reject)];
      const other = await open('y', () => {});
      await changed(world);
      await world.until('the ends', () => rejected.every(({ ended }) => ended !== null));
      await ticks();
      for (const { parser } of rejected)
        assert.equal(parser.events.at(-1)?.data.error, 'expired_access_token');
      assert.equal(other.ended, null);
    }));

  test('every stream is checked within a minute, also when many streams end meanwhile', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const checks = new Set<number>();
      const sinks: SimulatedSink[] = [];
      for (let index = 0; index < STREAMS; index += 1) {
        const checkCredentials = () => void checks.add(index);
        sinks.push(await world.open({ credentials: `${index}`, checkCredentials }));
      }
      await followed(world, () => checks.size === STREAMS);
      checks.clear();
      await world.pass(30);
      for (const index of checks) sinks[index]?.onEnd();
      await world.pass(25);
      assert.equal(checks.size, STREAMS);
    }));

  test('the next streams are not checked before a slow engine has answered', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const answer = Promise.withResolvers<void>();
      let isSlow = false;
      let checks = 0;
      for (let index = 0; index < STREAMS; index += 1) {
        await world.open({
          credentials: `${index}`,
          checkCredentials: () => {
            checks += 1;
            return isSlow ? answer.promise : undefined;
          },
        });
      }
      await followed(world, () => checks >= STREAMS);
      [checks, isSlow] = [0, true];
      await world.pass(30);
      assert.equal(checks, STREAMS / 50);
      answer.resolve();
      await world.pass(60);
      assert.ok(checks > STREAMS, `${checks}`);
    }));

  test('a stream that is opened within ten seconds after a secret was rotated is checked at once', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { engine, project, clock } = world;
      const isNextChecked = async () => {
        let isChecked = false;
        await world.open({
          checkCredentials() {
            isChecked = true;
          },
        });
        await ticks();
        return isChecked;
      };
      await isNextChecked();
      await world.pass(15);
      assert.equal(await isNextChecked(), false);
      const secret = { secret: 'another', previousValidUntil: clock.now() + 60_000 };
      await engine.store.projects.rotateSecret(project, secret, writeContext(clock, BY_TEST));
      await world.pass(9);
      assert.equal(await isNextChecked(), true);
      await world.pass(6);
      assert.equal(await isNextChecked(), false);
    }));

  test('all streams are checked once the record of changes can be read, where it could not be at first', () =>
    withStreams({}, async (world) => {
      const { changes } = world.engine.store;
      const { read } = changes;
      const caller = { ...BY_TEST, projectId: 'test-project', project: world.project, sessionId: null };
      const checked = new Set<number>();
      for (let index = 0; index < STREAMS; index += 1) {
        const request = { caller, checkCredentials: () => void checked.add(index) };
        await world.services.changeStreams.open(request, null, {});
      }
      changes.read = () => Promise.reject(new StoreUnavailableError('no answer'));
      await world.pass(2);
      assert.ok(checked.size < STREAMS);
      changes.read = read;
      await world.pass(2);
      await world.until('the check of all streams', () => checked.size === STREAMS);
    }));
});
