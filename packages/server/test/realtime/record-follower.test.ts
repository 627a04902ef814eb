import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { RecordFollower } from '../../src/core/changes/record-follower.ts';
import { USERS_TOPIC } from '../../src/store/changes/change-topics.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { BY_TEST } from '../support/origin.ts';
import { testSettings } from '../support/server.ts';
import { withStreams } from './stream-world.ts';

test('the record of a project is followed also while that of another project cannot be read', () =>
  withStreams({ users: ['a'] }, async (world) => {
    const { engine, services, clock, project } = world;
    const { changes, users, projects } = engine.store;
    const { customerId } = testSettings('');
    const created = await services.projects.create(
      { customerId: customerId as string, ...BY_TEST },
      { name: 'P' },
    );
    const away = (await projects.find(created.id))?.key;
    assert.ok(away !== undefined);
    const context = { ...BY_TEST, now: clock.now(), revision: 'r' };
    await users.put(away, 'b', {}, context);
    using follower = new DisposableStack();
    const record = follower.adopt(
      new RecordFollower({ ...engine, clock, log: pino({ level: 'silent' }) }),
      (own) => own.close(),
    );
    const found: string[] = [];
    for (const [followed, name] of [[away, 'away'] as const, [project, 'other'] as const]) {
      const onChanges = () => void found.push(name);
      record.follow(followed, [USERS_TOPIC], { onChanges, onGap: assert.fail });
      await record.begun(followed);
    }
    const readTopics = changes.readTopics.bind(changes);
    changes.readTopics = async (of, ...rest) => {
      if (of === away) throw new StoreUnavailableError('away');
      return readTopics(of, ...rest);
    };
    await users.put(project, 'a', { status: 'deleted' }, context);
    await world.pass(2);
    await world.until('the change', () => found.includes('other'));
    changes.readTopics = readTopics;
    await users.put(away, 'b', { status: 'deleted' }, context);
    await world.pass(2);
    await world.until('the change of the other project', () => found.includes('away'));
  }));
