import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RevisionPage, ThreadChanges } from '../../../src/store/ports/conversation-feed.ts';
import { appended, Conversation, inBatches, markdown, plain } from './conversation.ts';
import { withImportedThreads } from './imported-roster.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';
import { projectOf } from './transfers.ts';

/** What streams of messages are made from. */
export function conversationFeedContract(lab: StoreLab): void {
  const since = async (c: Conversation, position: number): Promise<ThreadChanges> => {
    const changes = await c.changesSince('t', position);
    assert.ok(changes.kind === 'changes', JSON.stringify(changes));
    return changes;
  };
  const ids = ({ messages }: ThreadChanges) => messages.map(({ id }) => id);

  describe('the changes of a thread after a position', () => {
    test('a new thread is at position 0, and nothing changed after it', async () => {
      const c = await Conversation.withThread(lab);
      const { position, messages, removed, thread } = await since(c, 0);
      assert.deepEqual([position, messages, removed, thread.id], [0, [], [], 't']);
    });

    test('messages that were created or changed come in the order of their last change, as they are now', async () => {
      const c = await Conversation.withThread(lab);
      for (const id of ['a', 'b', 'c']) await c.newMessage('t', id, { content: markdown(id) });
      const first = await since(c, 0);
      assert.deepEqual(ids(first), ['a', 'b', 'c']);
      assert.deepEqual(first.position, first.messages.at(-1)?.position);
      await c.putMessage('t', 'a', { content: plain('changed') });
      await c.append('t', 'b', appended('!'));
      const second = await since(c, first.position);
      assert.deepEqual(ids(second), ['a', 'b']);
      assert.equal(second.messages[0]?.content, plain('changed').json);
      assert.deepEqual(ids(await since(c, second.position)), []);
    });

    test('an append changes the position of a message and not its written position', async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'm', { content: markdown('ab') });
      const [before] = (await since(c, 0)).messages;
      await c.append('t', 'm', appended('c'));
      const [after] = (await since(c, 0)).messages;
      assert.ok((after?.position ?? 0) > (before?.position ?? 0));
      assert.equal(after?.writtenPosition, before?.writtenPosition);
      assert.deepEqual([before?.markdownLength, after?.markdownLength], [2, 3]);
      await c.putMessage('t', 'm', { deleted: true });
      assert.ok(((await since(c, 0)).messages[0]?.writtenPosition ?? 0) > (after?.position ?? 0));
    });

    test('a removed message comes once, with a position of its own', async () => {
      const c = await Conversation.withThread(lab);
      for (const id of ['a', 'b']) await c.newMessage('t', id);
      const { position } = await since(c, 0);
      await c.deleteMessage('t', 'a');
      const changes = await since(c, position);
      assert.deepEqual([ids(changes), changes.removed.map(({ id }) => id)], [[], ['a']]);
      assert.ok((changes.removed[0]?.position ?? 0) > position);
      assert.deepEqual((await since(c, changes.position)).removed, []);
    });

    test('a write of the thread itself moves its own position, and a message does not', async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'a');
      const before = await since(c, 0);
      await c.putThread('t', { name: 'Renamed' });
      const after = await since(c, before.position);
      assert.deepEqual([after.threadPosition, after.thread.name], [after.position, 'Renamed']);
      assert.ok(before.threadPosition < before.position);
    });

    test('what changes nothing, and what was seen, moves no position', async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'a');
      const before = (await since(c, 0)).position;
      await c.putMessage('t', 'a', { content: plain('a') });
      await c.putThread('t', { name: 't' });
      await c.markSeen('t', 'bob');
      assert.equal((await since(c, 0)).position, before);
    });

    test('very many changes come in pieces, each from where the last one ended', async () => {
      const c = await Conversation.withThread(lab);
      const all = Array.from({ length: 450 }, (_, index) => `m${index}`);
      for (const id of all) await c.newMessage('t', id);
      const found: string[] = [];
      for (let position = 0; found.length < all.length; ) {
        const changes = await since(c, position);
        assert.ok(changes.messages.length > 0 && changes.messages.length <= 200);
        found.push(...ids(changes));
        position = changes.position;
      }
      assert.deepEqual(found, all);
    });

    test('a position ahead of the thread is gone, and so is one before removals that are no longer stored', async () => {
      const c = await Conversation.withThread(lab);
      const { kind } = await c.changesSince('t', 99);
      assert.equal(kind, 'gone');
      await inBatches(numbered('m', 1_002), async (id) => {
        await c.newMessage('t', id);
        await c.deleteMessage('t', id);
      });
      assert.equal((await c.changesSince('t', 0)).kind, 'gone');
    });

    test('a page of messages names the position that it is of', async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'a');
      const page = await c.store.messages.list(c.key, 't', {
        order: 'descending',
        after: null,
        limit: 10,
        maxBytes: 1_000,
      });
      const { epoch, position } = await since(c, 0);
      assert.deepEqual(page?.at, { epoch, position });
      const positions = await c.store.conversationFeed.positions(c.key, ['t', 'none']);
      assert.deepEqual([...positions], [['t', { epoch, position }]]);
    });

    test('a thread that is not there is absent, and one made anew has another epoch', async () => {
      const c = await Conversation.withThread(lab);
      const { epoch } = await since(c, 0);
      await c.deleteThread('t');
      assert.deepEqual(await c.changesSince('t', 0), { kind: 'threadAbsent' });
      await c.newThread('t');
      assert.notEqual((await since(c, 0)).epoch, epoch);
      assert.match(epoch, /^[A-Za-z0-9]{1,64}$/);
    });

    test('an imported thread has another epoch, and its changes after its first message go on from there', async () => {
      const c = await Conversation.withThread(lab);
      for (const id of ['a', 'b']) await c.newMessage('t', id, { content: markdown(id) });
      const { epoch } = await since(c, 0);
      await lab.withStore(async (to) => {
        await to.transfer.import(lab.store.transfer.export());
        const { key } = await projectOf(to, await c.projectId());
        const copy = new Conversation(to, key, c.writes);
        const imported = await since(copy, 0);
        assert.notEqual(imported.epoch, epoch);
        assert.deepEqual(ids(imported), ['a', 'b']);
        const [first, last] = imported.messages;
        assert.equal(imported.position, last?.position);
        await copy.append('t', 'a', appended('!'));
        assert.deepEqual(ids(await since(copy, first?.position ?? 0)), ['b', 'a']);
      });
    });
  });

  test('a new epoch is read at once: that of changes, and that of each thread', () =>
    lab.withStore(async (store) => {
      const c = await Conversation.in({ store });
      await c.newThread('t');
      const changes = () => store.changes.read(c.key, 0, 1);
      const thread = async () => (await store.conversationFeed.positions(c.key, ['t'])).get('t');
      const before = [await changes(), await thread()];
      await store.transfer.beginEpoch();
      const after = [await changes(), await thread()];
      for (const [index, state] of after.entries()) assert.notEqual(state?.epoch, before[index]?.epoch);
    }));

  describe('the unread messages of many users', () => {
    test('unread of many users is what a reading for each of them has', async () => {
      const c = await Conversation.withThread(lab);
      const users = ['ann', 'bob', 'cid', 'off', 'none'];
      const isAlike = async () => {
        const unread = await c.store.conversationFeed.unread(c.key, 't', users);
        for (const user of users)
          assert.deepEqual([user, unread.get(user)], [user, (await c.thread('t', user)).unread]);
        return [...unread.values()].toSorted((a, b) => a - b);
      };
      assert.deepEqual(await isAlike(), [0, 0, 0, 0, 0]);
      for (const id of ['a', 'b', 'c', 'd']) await c.newMessage('t', id);
      await c.markSeen('t', 'bob', 'b');
      await c.markSeen('t', 'cid', 'd');
      assert.deepEqual(await isAlike(), [0, 0, 2, 4, 4]);
      await c.putMessage('t', 'c', { deleted: true });
      await c.deleteMessage('t', 'a');
      assert.deepEqual(await isAlike(), [0, 0, 1, 2, 2]);
    });

    test('unread counts messages of the same millisecond as unread together, or not at all', async () => {
      const c = await Conversation.withThread(lab);
      for (const id of ['a', 'b']) await c.newMessage('t', id, { createdAt: 500 });
      await c.newMessage('t', 'c', { createdAt: 501 });
      await c.markSeen('t', 'bob', 'a');
      const unread = await c.store.conversationFeed.unread(c.key, 't', ['bob', 'cid']);
      assert.deepEqual([unread.get('bob'), unread.get('cid')], [1, 3]);
    });

    test('unread of a thread that is not there is of no user', async () => {
      const c = await Conversation.in(lab);
      assert.equal((await c.store.conversationFeed.unread(c.key, 't', ['ann'])).size, 0);
    });
  });

  describe("the revisions of a group's threads", () => {
    const walk = async (c: Conversation, groupId: string): Promise<Map<string, string>> => {
      const found = new Map<string, string>();
      let after: string | null = null;
      do {
        const page: RevisionPage = await c.store.conversationFeed.revisions(c.key, groupId, after);
        for (const { id, revision } of page.threads) {
          assert.ok(!found.has(id), `${id} comes once`);
          found.set(id, revision);
        }
        after = page.last;
      } while (after !== null);
      return found;
    };

    test('revisions are of all threads of the group and of no other one, resolved ones among them', async () => {
      const c = await Conversation.withThread(lab);
      await c.newThread('resolved', { resolved: true });
      await c.newThread('other', { groupId: 'h' });
      await c.newThread('removed');
      await c.deleteThread('removed');
      await c.newMessage('t', 'm');
      const found = await walk(c, 'g');
      assert.deepEqual([...found.keys()].toSorted(), ['resolved', 't']);
      for (const [id, revision] of found) assert.equal(revision, (await c.thread(id)).revision);
      assert.deepEqual(await walk(c, 'none'), new Map());
    });

    test('a revision changes with what is shown of the thread, its participants among them, and not with an append', async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'm', { content: markdown('a') });
      const revision = async () => (await walk(c, 'g')).get('t');
      const before = await revision();
      await c.append('t', 'm', appended('b'));
      assert.equal(await revision(), before);
      await c.markSeen('t', 'bob');
      assert.notEqual(await revision(), before);
    });

    test('revisions of very many threads come in pages, each thread once', () => {
      const threads = Array.from({ length: 2_010 }, (_, index) => ({
        ...{ id: `t${index}`, created_at: 5_000 },
        ...(index % 10 === 7 && { resolved_at: 5_000 }),
      }));
      return withImportedThreads(lab, threads, async (c) => {
        const ids = threads.map(({ id }) => id);
        assert.deepEqual([...(await walk(c, 'g')).keys()].toSorted(), ids.toSorted());
      });
    });
  });
}
