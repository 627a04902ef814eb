/** Lists of messages: their order, their pages, and the bounds of a page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, EARLIER, markdown, plain } from './conversation.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function messageListContract(lab: StoreLab): void {
  /** Times of arrival that are not those of creation, some of them the same. */
  const stock = async () => {
    const c = await Conversation.withThread(lab);
    const times = [5, 3, 3, 9, 1, 9, 5, 7];
    for (const [index, time] of times.entries()) {
      await c.newMessage('t', `m${index}`, { createdAt: EARLIER + time });
    }
    return c;
  };
  const ASCENDING = ['m4', 'm1', 'm2', 'm0', 'm6', 'm7', 'm3', 'm5'];

  test('messages come by the time of their creation, then by arrival, in both orders, whatever the pages are', async () => {
    const c = await stock();
    for (const limit of [1, 3, 7, 8, 1_000]) {
      assert.deepEqual(await c.messageIds('t', { limit }), ASCENDING);
      const descending = await c.messageIds('t', { limit, order: 'descending' });
      assert.deepEqual(descending, ASCENDING.toReversed());
    }
  });

  test('a page has the messages as they are found one by one, the group, and the total', async () => {
    const c = await stock();
    await c.putMessage('t', 'm1', { deleted: true });
    await c.putMessage('t', 'm2', { content: markdown('x'), url: 'https://example.org' });
    await c.append('t', 'm2', { escaped: 'yz', length: 2, offset: null });
    const page = await c.listMessages('t', { limit: 3 });
    assert.deepEqual(
      page?.messages,
      await Promise.all(ASCENDING.slice(0, 3).map((id) => c.message('t', id))),
    );
    assert.deepEqual([page?.groupId, page?.total, page?.last === null], ['g', 8, false]);
  });

  test('a full page is the last one where nothing follows', async () => {
    const c = await stock();
    assert.equal((await c.listMessages('t', { limit: 8 }))?.last, null);
    assert.notEqual((await c.listMessages('t', { limit: 7 }))?.last, null);
  });

  test('messages that stay come exactly once while others come, go and change', async () => {
    const c = await Conversation.withThread(lab);
    const ids = numbered('m', 40);
    for (const id of ids) await c.newMessage('t', id);
    for (const order of ['ascending', 'descending'] as const) {
      const found: string[] = [];
      let after: string | null = null;
      let step = 0;
      do {
        const page: Awaited<ReturnType<Conversation['listMessages']>> = await c.listMessages('t', {
          order,
          after,
          limit: 6,
        });
        assert.ok(page);
        found.push(...page.messages.map(({ id }) => id));
        after = page.last;
        await c.newMessage('t', `${order} ${step}`);
        await c.newMessage('t', `${order} old ${step}`, { createdAt: EARLIER - step });
        await c.putMessage('t', ids[20 + step] as string, { content: plain(`changed ${order}`) });
        step += 1;
      } while (after !== null && step < 20);
      const stayed = found.filter((id) => ids.includes(id));
      assert.deepEqual(stayed, order === 'ascending' ? ids : ids.toReversed());
    }
  });

  test('a page goes on after a message that is gone', async () => {
    const c = await stock();
    const page = await c.listMessages('t', { limit: 2 });
    await c.deleteMessage('t', 'm1');
    const next = await c.listMessages('t', { limit: 2, after: page?.last ?? null });
    assert.deepEqual(
      next?.messages.map(({ id }) => id),
      ['m2', 'm0'],
    );
  });

  test('a page ends with the message that makes it larger than the bound, content and metadata together', async () => {
    const c = await Conversation.withThread(lab);
    const metadata = JSON.stringify({ text: 'x'.repeat(500) });
    for (const id of ['a', 'b', 'd', 'e']) {
      await c.newMessage('t', id, { content: plain('x'.repeat(500)), metadata });
    }
    const sizeOf = async (maxBytes: number) => (await c.listMessages('t', { maxBytes }))?.messages.length;
    assert.deepEqual([await sizeOf(500), await sizeOf(1_500), await sizeOf(10_000)], [1, 2, 4]);
    for (const order of ['ascending', 'descending'] as const) {
      assert.equal((await c.messageIds('t', { maxBytes: 500, order })).length, 4);
    }
  });
}
