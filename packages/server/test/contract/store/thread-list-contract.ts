/** Lists of threads: their order, their filters, and their pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalLocation, type Location } from '@rollcall/protocol';
import { Conversation } from './conversation.ts';
import { withImportedThreads } from './imported-roster.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const at = (location: Location, partial = false) => ({ location: canonicalLocation(location), partial });

export function threadListContract(lab: StoreLab): void {
  threadOrder(lab);
  threadFilters(lab);
  threadPages(lab);
}

function threadOrder(lab: StoreLab): void {
  test('threads come by their latest message, or their creation where they have none, the latest first', async () => {
    const c = await Conversation.in(lab);
    for (const [index, id] of ['a', 'b', 'd'].entries()) await c.newThread(id, {}, { now: START + index });
    assert.deepEqual(await c.threadIds(), ['d', 'b', 'a']);
    await c.newMessage('a', 'm', {}, { now: START + 10 });
    assert.deepEqual(await c.threadIds(), ['a', 'd', 'b']);
    await c.newMessage('b', 'm', {}, { now: START + 20 });
    await c.newMessage('a', 'old', { createdAt: START - 5 });
    assert.deepEqual(await c.threadIds(), ['b', 'a', 'd']);
    await c.newThread('e', { createdAt: START + 15 });
    assert.deepEqual(await c.threadIds({ groupId: 'g' }), ['b', 'e', 'a', 'd']);
  });

  test('a message that is deleted keeps its time as activity; one that is removed does not', async () => {
    const c = await Conversation.in(lab);
    for (const [index, id] of ['a', 'b'].entries()) await c.newThread(id, {}, { now: START + index });
    await c.newMessage('a', 'm1', {}, { now: START + 10 });
    await c.newMessage('b', 'm', {}, { now: START + 20 });
    await c.newMessage('a', 'm2', {}, { now: START + 30 });
    await c.putMessage('a', 'm2', { deleted: true });
    assert.deepEqual(await c.threadIds(), ['a', 'b']);
    await c.deleteMessage('a', 'm2');
    assert.deepEqual(await c.threadIds(), ['b', 'a']);
    assert.equal((await c.thread('a')).lastMessageAt, START + 10);
    await c.deleteMessage('b', 'm');
    assert.deepEqual(await c.threadIds(), ['a', 'b']);
    assert.equal((await c.thread('b')).lastMessageAt, null);
  });

  test('a list shows threads as they are found one by one', async () => {
    const c = await Conversation.in(lab);
    await c.newThread('t', { location: '{"a":"b"}', url: 'https://example.org', metadata: '{"a":1}' });
    await c.newThread('u', { groupId: 'h', resolved: true });
    await c.newMessage('t', 'm');
    await c.markSeen('t', 'bob');
    for (const viewer of [null, 'bob', 'cid']) {
      const { threads, last } = await c.listThreads({ viewer });
      assert.deepEqual(threads, [await c.thread('t', viewer), await c.thread('u', viewer)]);
      assert.equal(last, null);
    }
  });
}

function threadFilters(lab: StoreLab): void {
  /** Threads in ascending order of ID, the latest first. */
  const stock = async () => {
    const c = await Conversation.in(lab);
    await c.newThread('g8', { location: '{"a":"1"}', groupId: 'h', resolved: true });
    await c.newThread('f7', { location: '{"a":"1","b":"2"}', groupId: 'h' });
    await c.newThread('e6', {});
    await c.newThread('d5', { location: '{"a":"1","b":"3"}' });
    await c.newThread('c4', { location: '{"a":"2","b":"2"}', resolved: true });
    await c.newThread('b3', { location: '{"a":"1","b":"2","c":"3"}' });
    await c.newThread('a2', { location: '{"a":"1","b":"2"}', resolved: true });
    await c.newThread('a1', { location: '{"a":"1"}' });
    return c;
  };
  const filters: readonly [title: string, filter: Parameters<Conversation['threadIds']>[0], ids: string][] = [
    ['nothing', {}, 'a1 a2 b3 c4 d5 e6 f7 g8'],
    ['a group', { groupId: 'g' }, 'a1 a2 b3 c4 d5 e6'],
    ['another group', { groupId: 'h' }, 'f7 g8'],
    ['a group without threads', { groupId: 'shut' }, ''],
    ['an unknown group', { groupId: 'none' }, ''],
    ['resolved', { resolved: true }, 'a2 c4 g8'],
    ['not resolved', { resolved: false }, 'a1 b3 d5 e6 f7'],
    ['a group and resolved', { groupId: 'g', resolved: true }, 'a2 c4'],
    ['a location', { location: at({ a: '1' }) }, 'a1 g8'],
    ['a location with its pairs in another order', { location: at({ b: '2', a: '1' }) }, 'a2 f7'],
    ['a location that no thread has', { location: at({ b: '2' }) }, ''],
    ['a location and a group', { location: at({ a: '1', b: '2' }), groupId: 'g' }, 'a2'],
    ['a location and not resolved', { location: at({ a: '1', b: '2' }), resolved: false }, 'f7'],
    ['all three', { location: at({ a: '1' }), groupId: 'h', resolved: true }, 'g8'],
    ['a pair', { location: at({ a: '1' }, true) }, 'a1 a2 b3 d5 f7 g8'],
    ['another pair', { location: at({ b: '2' }, true) }, 'a2 b3 c4 f7'],
    ['a pair that no thread has', { location: at({ b: '1' }, true) }, ''],
    ['two pairs', { location: at({ a: '1', b: '2' }, true) }, 'a2 b3 f7'],
    ['two pairs that no thread has at once', { location: at({ a: '2', c: '3' }, true) }, ''],
    ['two pairs and a group', { location: at({ a: '1', b: '2' }, true), groupId: 'g' }, 'a2 b3'],
    ['a pair and resolved', { location: at({ a: '1' }, true), resolved: true }, 'a2 g8'],
    [
      'a pair, a group and not resolved',
      { location: at({ b: '2' }, true), groupId: 'g', resolved: false },
      'b3',
    ],
  ];

  test('a list has exactly the threads that pass its filter, however small its pages are', async () => {
    const c = await stock();
    for (const [title, filter, ids] of filters) {
      for (const limit of [1_000, 2, 1]) {
        assert.equal(
          (await c.threadIds({ ...filter, limit })).join(' '),
          ids,
          `${title}, ${limit} at a time`,
        );
      }
    }
  });

  test('a thread moves among lists with its location and with its resolution', async () => {
    const c = await Conversation.in(lab);
    await c.newThread('t', { location: canonicalLocation({ a: '1', b: '2' }) });
    await c.newMessage('t', 'm');
    const lists = async () => {
      const found: string[] = [];
      for (const location of [{ a: '1', b: '2' }, { a: '1' }, { b: '2' }, { b: '3' }, { a: '1', b: '3' }]) {
        for (const [partial, resolved] of [
          [false, false],
          [false, true],
          [true, false],
          [true, true],
        ] as const) {
          const ids = await c.threadIds({ location: at(location, partial), resolved, groupId: 'g' });
          if (ids.length > 0) found.push(`${Object.entries(location).join(' ')} ${partial} ${resolved}`);
        }
      }
      return found;
    };
    const before = ['a,1 b,2 false false', 'a,1 b,2 true false', 'a,1 true false', 'b,2 true false'];
    assert.deepEqual(await lists(), before);
    await c.putThread('t', { location: canonicalLocation({ a: '1', b: '3' }) });
    const moved = ['a,1 true false', 'b,3 true false', 'a,1 b,3 false false', 'a,1 b,3 true false'];
    assert.deepEqual(await lists(), moved);
    await c.putThread('t', { resolved: true });
    assert.deepEqual(
      await lists(),
      moved.map((list) => list.replace(/ false$/, ' true')),
    );
    await c.putThread('t', { resolved: false, location: canonicalLocation({ a: '1', b: '2' }) });
    assert.deepEqual(await lists(), before);
    await c.putThread('t', { location: null });
    assert.deepEqual(await lists(), []);
    assert.deepEqual(await c.threadIds(), ['t']);
    await c.putThread('t', { location: canonicalLocation({ a: '1' }) });
    assert.deepEqual(await lists(), ['a,1 false false', 'a,1 true false']);
    await c.deleteThread('t');
    assert.deepEqual(await lists(), []);
  });

  test('a pair is a key with its value, wherever the quotes are', async () => {
    const c = await Conversation.in(lab);
    const locations: readonly Location[] = [
      { a: 'b', c: 'd' },
      { b: 'a', d: 'c' },
      { a: 'b","c":"d' },
      { 'a":"b","c': 'd' },
      { a: 'b\\' },
    ];
    for (const [index, location] of locations.entries()) {
      await c.newThread(`t${index}`, { location: canonicalLocation(location) });
    }
    for (const [index, location] of locations.entries()) {
      for (const partial of [false, true]) {
        assert.deepEqual(await c.threadIds({ location: at(location, partial) }), [`t${index}`]);
      }
    }
    assert.deepEqual(await c.threadIds({ location: at({ a: 'b' }, true) }), ['t0']);
  });

  test('few of many threads that pass are found, page by page', () => {
    const many = numbered('t', 5_500).map((id) => ({ id, location: { a: '1', id } }));
    const passing = (id: string) => ({ id, location: { a: '1', z: '1' } });
    const threads = [passing('first'), ...many, passing('last')].map((thread, index) => ({
      ...thread,
      created_at: index,
    }));
    return withImportedThreads(lab, threads, async (c) => {
      assert.deepEqual(await c.threadIds({ location: at({ a: '1', z: '1' }, true), limit: 10 }), [
        'last',
        'first',
      ]);
      assert.deepEqual(await c.threadIds({ location: at({ a: '1', z: '2' }, true), limit: 10 }), []);
      assert.equal((await c.threadIds({ location: at({ a: '1' }, true) })).length, threads.length);
    });
  });
}

function threadPages(lab: StoreLab): void {
  test('threads of the same activity come once each, whatever the pages are', async () => {
    const c = await Conversation.in(lab);
    const ids = numbered('t', 25);
    for (const [index, id] of ids.entries())
      await c.newThread(id, { resolved: index % 3 === 0 }, { now: START });
    const all = await c.threadIds();
    assert.deepEqual([...all].sort(), ids);
    for (const limit of [1, 7, 24, 25]) assert.deepEqual(await c.threadIds({ limit }), all);
  });

  test('a full page is the last one where nothing follows', async () => {
    const c = await Conversation.in(lab);
    for (const id of ['a', 'b']) await c.newThread(id);
    assert.equal((await c.listThreads({ limit: 2 })).last, null);
    const { threads, last } = await c.listThreads({ limit: 1 });
    assert.deepEqual([threads.map(({ id }) => id), last === null], [['b'], false]);
  });

  test('threads that stay as they are come exactly once while others come, go and move', async () => {
    const c = await Conversation.in(lab);
    const ids = numbered('t', 30);
    for (const id of ids) await c.newThread(id);
    const found: string[] = [];
    let after: string | null = null;
    let step = 0;
    do {
      const page: Awaited<ReturnType<Conversation['listThreads']>> = await c.listThreads({ after, limit: 4 });
      found.push(...page.threads.map(({ id }) => id));
      after = page.last;
      await c.newThread(`new ${step}`);
      await c.deleteThread(ids[step] as string);
      await c.newMessage(ids[step + 10] as string, 'm');
      step += 1;
    } while (after !== null);
    const staying = ids.filter((_, index) => index >= step && (index < 10 || index >= 10 + step));
    assert.ok(staying.length > 10, `${staying.length} threads stay`);
    for (const id of staying) assert.equal(found.filter((each) => each === id).length, 1, id);
    assert.equal(new Set(found).size, found.length);
  });

  test('a page goes on after a thread that is gone', async () => {
    const c = await Conversation.in(lab);
    for (const id of ['a', 'b', 'd']) await c.newThread(id);
    const { last } = await c.listThreads({ limit: 2 });
    await c.deleteThread('b');
    const { threads } = await c.listThreads({ after: last });
    assert.deepEqual(
      threads.map(({ id }) => id),
      ['a'],
    );
  });

  test('a page ends with the thread that makes it larger than the bound', async () => {
    const c = await Conversation.in(lab);
    const metadata = JSON.stringify({ text: 'x'.repeat(1_000) });
    for (const id of ['a', 'b', 'd', 'e']) await c.newThread(id, { metadata });
    const sizes = async (maxBytes: number) => (await c.listThreads({ maxBytes })).threads.length;
    assert.deepEqual([await sizes(500), await sizes(1_500), await sizes(10_000)], [1, 2, 4]);
    assert.deepEqual(await c.threadIds({ maxBytes: 500 }), ['e', 'd', 'b', 'a']);
  });

  test('the participants of a thread count in the bound of a page', async () => {
    const c = await Conversation.in(lab);
    for (const id of ['a', 'b', 'd']) await c.newThread(id);
    const users = Array.from({ length: 20 }, (_, index) => `${index}`.padStart(200, 'u'));
    for (const user of users) await c.markSeen('d', user);
    const pages = async (maxBytes: number) => (await c.listThreads({ maxBytes })).threads.length;
    assert.deepEqual([await pages(20 * 200 + 100), await pages(20 * 300)], [1, 3]);
  });
}
