import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { RecordFollower } from '../../src/core/changes/record-follower.ts';
import { addByTopic, LEFT_MAX, type TopicChanges } from '../../src/core/changes/topic-changes.ts';
import { presenceTopic, type Topic, USERS_TOPIC } from '../../src/store/changes/change-topics.ts';
import type { ChangeRecord } from '../../src/store/ports/changes.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { numbered } from '../contract/store/roster.ts';
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
      record.follow(followed, [USERS_TOPIC], { onChanges, onGap: () => assert.fail() });
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

test('each reading of a long record has some 256 KiB, and is in an event-loop tick of its own', () => {
  // More than 2 MiB of IDs.
  const ids = numbered('x'.repeat(290), 8_000);
  return withStreams({ users: ids }, async (world) => {
    const { engine, clock, project } = world;
    const { changes, groups } = engine.store;
    using follower = new DisposableStack();
    const record = follower.adopt(
      new RecordFollower({ ...engine, clock, log: pino({ level: 'silent' }) }),
      (own) => own.close(),
    );
    const left = new Set<string>();
    const onChanges = (_topic: Topic, { users }: TopicChanges) => {
      for (const id of users) left.add(id);
    };
    record.follow(project, [presenceTopic('g')], { onChanges, onGap: () => assert.fail() });
    await record.begun(project);
    await groups.put(project, 'g', { members: [] }, { ...BY_TEST, now: clock.now(), revision: 'r' });
    let ticks = 0;
    const nextTick = () => {
      ticks += 1;
      counting = setImmediate(nextTick);
    };
    let counting = setImmediate(nextTick);
    follower.defer(() => clearImmediate(counting));
    const readIn: number[] = [];
    const readTopics = changes.readTopics.bind(changes);
    changes.readTopics = async (...parameters) => {
      readIn.push(ticks);
      const reading = await readTopics(...parameters);
      const withoutLast = JSON.stringify(reading.records.slice(0, -1)).length;
      assert.ok(withoutLast <= 270_000, `${withoutLast}`);
      return reading;
    };
    await record.begun(project);
    assert.deepEqual([...left].sort(), ids);
    assert.ok(readIn.length > 2, `${readIn}`);
    assert.equal(new Set(readIn).size, readIn.length, `${readIn}`);
  });
});

test('when very many members leave a group, a bounded number is named, and all of the group counts as changed', () => {
  const left = (count: number): TopicChanges => {
    const byTopic = new Map<Topic, TopicChanges>();
    const ids = numbered('u', count);
    for (let position = 1; ids.length > 0; position += 1) {
      const users = ids.splice(0, 1_000);
      const changes: ChangeRecord['changes'] = [{ type: 'member.removed', group: 'g', users }];
      addByTopic(byTopic, [{ position, at: 1, ...BY_TEST, changes }]);
    }
    return byTopic.get(presenceTopic('g')) as TopicChanges;
  };
  const few = left(LEFT_MAX);
  assert.deepEqual([few.users.size, few.isOfGroup], [LEFT_MAX, false]);
  const many = left(5 * LEFT_MAX);
  assert.deepEqual([many.users.size, many.isOfGroup], [LEFT_MAX, true]);
  assert.equal(many.isGroupRemoved, false);
});
