import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CREDENTIALS_TOPIC } from '../../../src/store/changes/change-topics.ts';
import {
  CHANGES_READ_MAX_BYTES,
  type ChangeRecord,
  REMOVED_AT_ONCE,
} from '../../../src/store/ports/changes.ts';
import { orderAll, recordsAfter } from '../../support/recorded.ts';
import { changesOf, changeTexts } from './entries.ts';
import { newest, recordedAfter } from './recorded-changes.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function changeContract(lab: StoreLab): void {
  test('a record has the time, the actor and the request ID of its write', async () => {
    const roster = await lab.project();
    const actor = { kind: 'access_token', id: 'a:b' } as const;
    const context = { ...roster.next(), actor, requestId: 'request 1' };
    await roster.store.users.put(roster.key, 'ann', {}, context);
    const [record, ...others] = await recordsAfter(roster.store, roster.key, 0, 10);
    assert.deepEqual(others, []);
    const { position: _, changes, ...origin } = record ?? assert.fail('there is a record');
    assert.deepEqual(origin, { at: context.now, actor, requestId: 'request 1' });
    assert.deepEqual(changes, [{ type: 'user.created', user: 'ann' }]);
  });

  test('changes record IDs of any legal characters unchanged', async () => {
    const roster = await lab.project();
    const id = '{"\\,} \u{1f600}\'';
    await roster.groupOf(id, id);
    await roster.putUser(id, { name: 'N', status: 'deleted' });
    await roster.putGroup(id, { name: 'N', status: 'deleted' });
    assert.deepEqual(await recordedAfter(roster, 0), [
      ...[`user.created ${id}`, `group.created ${id}`, `member.added ${id} ${id}`],
      ...[`user.updated ${id} name`, `user.deactivated ${id}`],
      ...[`group.updated ${id} name`, `group.deactivated ${id}`],
    ]);
  });

  test('positions of recorded changes grow, and a list begins after one of them', async () => {
    const roster = await lab.project();
    for (const id of ['a', 'b', 'c', 'd']) await roster.putUser(id, {});
    const all = await recordsAfter(roster.store, roster.key, 0, 10);
    const positions = all.map(({ position }) => position);
    assert.deepEqual(
      positions,
      [...new Set(positions)].sort((a, b) => a - b),
    );
    const after = positions[1] as number;
    const rest = await recordsAfter(roster.store, roster.key, after, 1);
    assert.deepEqual(rest, all.slice(2, 3));
  });

  test('changes from before a time are removed, later ones stay, and no position is used again', async () => {
    const roster = await lab.project();
    for (const id of ['a', 'b', 'c']) await roster.putUser(id, {});
    const [, , last] = await recordsAfter(roster.store, roster.key, 0, 10);
    while (await roster.store.changes.removeBefore(last?.at ?? 0));
    assert.deepEqual(await recordsAfter(roster.store, roster.key, 0, 10), [last]);
    while (await roster.store.changes.removeBefore(START + 1_000_000));
    await roster.putUser('d', {});
    const [next] = await recordsAfter(roster.store, roster.key, last?.position ?? 0, 10);
    assert.deepEqual(next?.changes, [{ type: 'user.created', user: 'd' }]);
  });

  test('old changes are removed in small steps: a step ends before it has removed too many of a project', async () => {
    const roster = await lab.project();
    const count = REMOVED_AT_ONCE + 100;
    for (let index = 0; index < count; index += 100)
      await Promise.all(numbered(`u${index}-`, 100).map((id) => roster.putUser(id, {})));
    await orderAll(roster.store);
    const { changes } = roster.store;
    const left = async () => {
      const { newest: position, removedTo } = await changes.read(roster.key, 0, 0);
      return position - removedTo;
    };
    assert.equal(await left(), count);
    for (let [before, mayBeMore] = [count, true]; mayBeMore; before = await left()) {
      mayBeMore = await changes.removeBefore(START + 1_000_000_000);
      assert.ok((await left()) >= before - REMOVED_AT_ONCE, `${before - (await left())} in one step`);
    }
    assert.ok((await left()) <= 1, 'nothing but the newest record');
  });

  test('a reading has the newest position, what was removed, and the epoch of its project', async () => {
    const [roster, other] = [await lab.project(), await lab.project()];
    const { changes } = roster.store;
    for (const id of ['a', 'b', 'c']) await roster.putUser(id, {});
    const records = await recordsAfter(roster.store, roster.key);
    const { epoch, ...reading } = await changes.read(roster.key, 0, 2);
    assert.deepEqual(reading, { newest: 3, projectExists: true, removedTo: 0, records: records.slice(0, 2) });
    assert.match(epoch, /^[0-9a-z]{1,64}$/);
    while (await changes.removeBefore(records[2]?.at ?? 0));
    const expected = { epoch, newest: 3, projectExists: true, removedTo: 2, records: records.slice(2) };
    assert.deepEqual(await changes.read(roster.key, 0, 2), expected);
    const { epoch: otherEpoch, ...nothing } = await changes.read(other.key, 0, 2);
    assert.deepEqual(nothing, { newest: 0, projectExists: true, removedTo: 0, records: [] });
    assert.notEqual(otherEpoch, epoch);
  });

  test('a reading reports a project that was removed, also one without records', async () => {
    const written = await lab.project();
    await written.putUser('a', {});
    for (const { store, key } of [written, await lab.project()]) {
      const before = await store.changes.readTopics(key, [CREDENTIALS_TOPIC], 0, 10);
      await store.projects.delete(key);
      const after = await store.changes.readTopics(key, [CREDENTIALS_TOPIC], 0, 10);
      assert.deepEqual([before.projectExists, after.projectExists], [true, false]);
      assert.equal((await store.changes.read(key, 0, 0)).projectExists, false);
    }
  });

  test('the order has the newest position of the projects that were written to', async () => {
    const roster = await lab.project();
    for (const id of ['a', 'b']) await roster.putUser(id, {});
    const newestOf = new Map<unknown, number>();
    for (let hasMore = true; hasMore; ) {
      const order = await roster.store.changes.order([roster.key]);
      for (const [project, position] of order.newest) newestOf.set(project, position);
      hasMore = order.hasMore;
    }
    assert.equal(newestOf.get(roster.key), 2);
  });

  test('changes of one project are not among those of another', async () => {
    const [one, two] = [await lab.project(), await lab.project()];
    await one.putUser('ann', {});
    assert.deepEqual(await recordedAfter(two, 0), []);
  });
}

/** Those of more members than one change names. */
export function splitChangeContract(lab: StoreLab): void {
  test('a change names at most 1,000 users: more are several changes, all of them recorded', async () => {
    const roster = await lab.project();
    const ids = numbered('u', 2_500);
    await roster.users(...ids);
    const before = await newest(roster);
    const outcome = await roster.putGroup('g', { name: 'G', members: ids });
    const expected = ['group.created g', ...ids.map((id) => `member.added g ${id}`)];
    assert.deepEqual(changesOf(outcome).sort(), [...expected].sort());
    const records = await recordsAfter(roster.store, roster.key, before, 10);
    const changes = records.flatMap((record) => record.changes);
    assert.deepEqual(
      changes.map((change) => ('users' in change ? (change.users as readonly string[]).length : 0)),
      [0, 1_000, 1_000, 500],
    );
    assert.deepEqual(changeTexts(changes).sort(), [...expected].sort());
  });
}

/** Those of lists of members that only a large body has. */
export function memberChangeContract(lab: StoreLab): void {
  test('a reading ends with the record that makes it longer than 256 KiB, and the next one goes on after it', async () => {
    const roster = await lab.project();
    const ids = Array.from({ length: 6_000 }, (_, index) => `${'u'.repeat(300)}${index}`);
    await roster.users(...ids);
    const before = await newest(roster);
    await roster.putGroup('g', { name: 'G', members: ids });
    await orderAll(roster.store);
    const found: ChangeRecord[] = [];
    for (let isEnd = false; !isEnd; ) {
      const after = found.at(-1)?.position ?? before;
      const { records, newest: last } = await roster.store.changes.read(roster.key, after, 100);
      const withoutLast = records.slice(0, -1).map(({ changes }) => JSON.stringify(changes));
      assert.ok(withoutLast.join('').length <= CHANGES_READ_MAX_BYTES, `${records.length} records`);
      found.push(...records);
      isEnd = found.at(-1)?.position === last;
    }
    const texts = found.flatMap(({ changes }) => changeTexts(changes));
    assert.deepEqual(texts.sort(), ['group.created g', ...ids.map((id) => `member.added g ${id}`)].sort());
  });
}
