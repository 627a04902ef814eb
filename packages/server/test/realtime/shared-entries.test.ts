import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { arrived, departed, durable, type Entry } from '../../src/realtime/events/reader-event.ts';
import type { RecentEntries } from '../../src/realtime/events/recent-entries.ts';
import { SharedEntries } from '../../src/realtime/events/shared-entries.ts';

/** The entries that the channels of a group store together. */
const ENTRIES_MAX = 10_000;
const TEXT_MAX = 4_000_000;

/** Channels that each show events of their own, `count` of them with so much text in their location. */
function filled(channels: number, count: number, textLength: number) {
  const entries = new SharedEntries();
  const lists = Array.from({ length: channels }, () => entries.newList(0));
  for (let offset = 1; offset <= channels * count; offset += 1) {
    const location = `{"page":"${offset}${'x'.repeat(textLength)}"}`;
    lists[offset % channels]?.add([entries.entryOf(offset, arrived('a', location))]);
  }
  return { entries, lists, last: channels * count };
}

const stored = (lists: readonly RecentEntries[]): Entry[] =>
  lists.flatMap((list) => {
    for (let from = 0; ; from += 1) {
      const entries = list.after(from);
      if (entries !== null) return entries;
    }
  });

describe('the entries of the channels of a group', () => {
  test('channels that show the same event share one entry', () => {
    const entries = new SharedEntries();
    const event = arrived('a', '{"page":"1"}');
    const entry = entries.entryOf(7, event);
    assert.equal(entries.entryOf(7, event), entry);
    assert.equal(entries.entryOf(7, arrived('a', '{"page":"1"}')), entry);
    assert.notEqual(entries.entryOf(7, durable('a', '{"page":"1"}', 1)), entry);
    assert.notEqual(entries.entryOf(7, arrived('a', '{"page":"1"}', '{"page":"2"}')), entry);
    assert.notEqual(entries.entryOf(8, event), entry);
  });

  test('a group stores at most 10,000 entries, however many channels it has', () => {
    const { lists, last } = filled(50, 500, 10);
    const left = stored(lists);
    assert.ok(left.length >= ENTRIES_MAX / 2 && left.length <= ENTRIES_MAX, `${left.length} entries`);
    const offsets = left.map(({ offset }) => offset).sort((a, b) => a - b);
    assert.deepEqual(
      offsets,
      Array.from({ length: left.length }, (_, index) => last - left.length + 1 + index),
    );
  });

  test('the entries of a group have at most 4 million characters', () => {
    const { lists } = filled(50, 40, 10_000);
    const length = stored(lists).reduce(
      (sum, { event }) => sum + ('location' in event ? event.location.length : 0),
      0,
    );
    assert.ok(length >= TEXT_MAX / 3 && length <= TEXT_MAX, `${length} characters`);
  });

  test('a quiet channel loses its oldest entries too, and no longer covers their offsets', () => {
    const { entries, lists, last } = filled(2, 10, 10);
    const [idle, busy] = lists as [RecentEntries, RecentEntries];
    assert.equal(idle.after(0)?.length, 10);
    for (let offset = last + 1; offset <= last + ENTRIES_MAX; offset += 1) {
      busy.add([entries.entryOf(offset, arrived('a', '{"page":"1"}'))]);
    }
    assert.equal(idle.after(last - 1), null);
    assert.deepEqual(idle.after(last), []);
    assert.equal(busy.after(last + ENTRIES_MAX - 1_000)?.length, 1_000);
  });

  test('entries that no channel stores any more take no room of a quiet channel', () => {
    const entries = new SharedEntries();
    const [quiet, busy] = [entries.newList(0), entries.newList(0)];
    let offset = 0;
    const show = (list: RecentEntries, count: number) => {
      for (const last = offset + count; offset < last; ) {
        offset += 1;
        list.add([entries.entryOf(offset, arrived('a', '{"page":"1"}'))]);
      }
    };
    show(busy, ENTRIES_MAX - 100);
    const before = offset;
    show(quiet, 10);
    show(busy, ENTRIES_MAX - 100);
    assert.equal(quiet.after(before)?.length, 10);
  });

  test('a channel that was removed has nothing, and its entries take no room', () => {
    const { entries, lists, last } = filled(2, 10, 10);
    const [idle, busy] = lists as [RecentEntries, RecentEntries];
    entries.remove(idle);
    entries.remove(idle);
    assert.equal(idle.after(last), null);
    for (let offset = last + 1; offset <= last + ENTRIES_MAX; offset += 1) {
      const entry = entries.entryOf(offset, arrived('a', '{"page":"1"}'));
      if (offset > last + ENTRIES_MAX - 1_000) busy.add([entry]);
    }
    assert.equal(busy.after(last + ENTRIES_MAX - 1_000)?.length, 1_000);
  });

  test('entries of one offset are dropped together, in whatever order a channel has them', () => {
    const entries = new SharedEntries();
    const [quiet, narrow, wide, busy] = [0, 0, 0, 0].map((from) => entries.newList(from)) as [
      RecentEntries,
      RecentEntries,
      RecentEntries,
      RecentEntries,
    ];
    let offset = 0;
    const show = (list: RecentEntries, last: number) => {
      while (offset < last) {
        offset += 1;
        list.add([entries.entryOf(offset, arrived('q', '{"page":"2"}'))]);
      }
    };
    const leaves = (userId: string) => departed(userId, '{"page":"1"}', 'removed', true);
    // Nothing before it goes, as long as a channel has the first entry.
    show(quiet, 1);
    show(busy, ENTRIES_MAX / 2);
    offset += 1;
    // The narrow channel shows one of two users who leave at once, the wide one shows both.
    narrow.add([entries.entryOf(offset, leaves('b'))]);
    wide.add([entries.entryOf(offset, leaves('a')), entries.entryOf(offset, leaves('b'))]);
    show(busy, ENTRIES_MAX);
    assert.equal(wide.after(0), null);
    assert.deepEqual(wide.after(ENTRIES_MAX / 2 + 1), []);
    show(wide, ENTRIES_MAX + 10);
    assert.equal(wide.after(ENTRIES_MAX)?.length, 10);
  });

  test('entries that were dropped before a channel sent them are not stored for it', () => {
    const entries = new SharedEntries();
    const list = entries.newList(0);
    const pending = Array.from({ length: ENTRIES_MAX + 1 }, (_, index) =>
      entries.entryOf(index + 1, arrived('a', '{"page":"1"}')),
    );
    list.add(pending.slice(0, 10));
    assert.equal(list.after(9), null);
    assert.deepEqual(list.after(10), []);
    list.add(pending.slice(10));
    assert.equal(list.after(ENTRIES_MAX - 999)?.length, 1_000);
  });
});
