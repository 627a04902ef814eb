import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { StoreUnavailableError } from '../../../src/values/engine-errors.ts';
import { type Entry, entriesIn } from './entries.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const GROUPS = numbered('g', 40);
/** Four pages. */
const LIMIT = 10;
/** A reader that takes nothing for so long loses its snapshot, so that the engine can remove old rows. */
const IDLE_LIMIT_MS = 30_000;

const named = (name: string) => ({ groups: GROUPS.map((id) => ({ id, name })) });
const listAll = ({ store, key }: Roster, after: string | null = null) =>
  store.groups.listAll(key, { after, limit: LIMIT });

async function all(roster: Roster, after?: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const page of listAll(roster, after)) {
    assert.ok(page.count <= LIMIT);
    entries.push(...entriesIn(page));
  }
  return entries;
}

export function wholeListContract(lab: StoreLab): void {
  test('a list of all groups has the same entries as its pages, at every size around a page', async () => {
    const roster = await lab.project();
    assert.deepEqual(await all(roster), []);
    for (const size of [1, 9, 10, 11, 20, 21, 40]) {
      await roster.applied({ groups: GROUPS.slice(0, size).map((id) => ({ id, name: id })) });
      const { items } = await roster.listGroups({ after: null, limit: 1_000 });
      assert.deepEqual(await all(roster), JSON.parse(`[${items}]`));
    }
    assert.deepEqual(
      (await all(roster, 'g000004')).map(({ id }) => id),
      GROUPS.slice(5),
    );
  });

  test('a list of all groups is read in one state while it changes', async () => {
    const roster = await lab.project();
    await roster.applied(named('before'));
    const pages = listAll(roster);
    const entries = entriesIn((await pages.next()).value as Parameters<typeof entriesIn>[0]);
    await roster.applied(named('after'));
    await roster.deleteGroup('g000035');
    await roster.putGroup('g000035a', { name: 'new' });
    for await (const page of pages) entries.push(...entriesIn(page));
    assert.deepEqual(
      entries.map(({ id, name }) => [id, name]),
      GROUPS.map((id) => [id, 'before']),
    );
    assert.equal((await all(roster)).filter(({ name }) => name === 'after').length, GROUPS.length - 1);
  });

  test('a list of all groups that is read while batches are applied shows whole batches', async () => {
    const roster = await lab.project();
    await roster.applied(named('batch 0'));
    let isOver = false;
    const writing = (async () => {
      for (let batch = 1; batch <= 20; batch += 1) await roster.applied(named(`batch ${batch}`));
    })().finally(() => {
      isOver = true;
    });
    const readToTheEnd = async () => {
      while (!isOver) {
        const names = new Set((await all(roster)).map(({ name }) => name));
        assert.equal(names.size, 1, `a list is of ${[...names].join(' and ')}`);
        await new Promise(setImmediate);
      }
    };
    await Promise.all([writing, readToTheEnd(), readToTheEnd()]);
    assert.equal((await all(roster)).filter(({ name }) => name === 'batch 20').length, GROUPS.length);
  });

  test('a reader that stops within a list of all groups does not block other reads and writes', async () => {
    const roster = await lab.project();
    await roster.applied(named('before'));
    for (let round = 0; round < 30; round += 1) for await (const _ of listAll(roster)) break;
    await roster.applied(named('after'));
    assert.equal((await all(roster)).filter(({ name }) => name === 'after').length, GROUPS.length);
  });
}

/** How long an engine retains the rows of a reader. */
export function snapshotLimitContract(lab: StoreLab): void {
  test('a reader of a list of all groups that takes nothing for 30 seconds loses its snapshot, and not before', async () => {
    const roster = await lab.project();
    await roster.applied(named('before'));
    /** The second page, for a reader that takes the first one and waits then. */
    const secondAfter = async (pauseMs: number) => {
      mock.timers.enable({ apis: ['setTimeout'] });
      const list = listAll(roster);
      try {
        assert.equal((await list.next()).value?.count, LIMIT);
        mock.timers.tick(pauseMs);
        return await list.next();
      } finally {
        mock.timers.reset();
        await list.return();
      }
    };
    assert.equal((await secondAfter(IDLE_LIMIT_MS - 1)).value?.count, LIMIT);
    await assert.rejects(secondAfter(IDLE_LIMIT_MS), StoreUnavailableError);
  });
}
