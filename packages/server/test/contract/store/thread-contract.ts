/** Threads: creation, updates and errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredThreadWrite, ThreadRecord } from '../../../src/store/ports/threads.ts';
import { Conversation, EARLIER, type Given, SHUT, STALE } from './conversation.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const EVERY_FIELD = {
  groupId: 'g',
  name: 'N',
  url: 'https://example.org/1',
  location: '{"page":"1"}',
  metadata: '{"a":1}',
  resolved: true,
} as const;

export function threadContract(lab: StoreLab): void {
  threadWrites(lab);
  threadErrors(lab);
}

function threadWrites(lab: StoreLab): void {
  test('a new thread has nothing but its group, name and time of creation', async () => {
    const c = await Conversation.in(lab);
    await c.newThread('t', {}, { now: START, revision: 'first' });
    assert.deepEqual(await c.thread('t'), {
      id: 't',
      groupId: 'g',
      name: 't',
      url: null,
      location: null,
      metadata: '{}',
      resolvedAt: null,
      createdAt: START,
      userMessages: 0,
      actionMessages: 0,
      deletedMessages: 0,
      lastMessageAt: null,
      revision: 'first',
      participants: [],
      unread: null,
    });
  });

  test('a thread that is not there is null, and a project reads only its own threads', async () => {
    const [one, two] = [await Conversation.withThread(lab), await Conversation.in(lab)];
    assert.equal(await one.findThread('u'), null);
    assert.equal(await two.findThread('t'), null);
    assert.deepEqual(await two.threadIds(), []);
  });

  test('a thread can be created with every field; `resolved` then has the time of the write', async () => {
    const c = await Conversation.in(lab);
    await c.newThread('t', EVERY_FIELD, { now: START + 5 });
    const { name, url, location, metadata, resolvedAt } = await c.thread('t');
    assert.deepEqual(
      { groupId: 'g', name, url, location, metadata, resolved: resolvedAt === START + 5 },
      EVERY_FIELD,
    );
  });

  const imports: readonly [title: string, write: StoredThreadWrite, resolvedAt: number | null][] = [
    [
      'an import that is resolved has the supplied time',
      { resolved: true, resolvedAt: EARLIER + 1 },
      EARLIER + 1,
    ],
    ['an import with a time of resolution alone is resolved', { resolvedAt: EARLIER + 1 }, EARLIER + 1],
    ['an import with neither is not resolved', {}, null],
    [
      'an import that is not resolved has no time of resolution',
      { resolved: false, resolvedAt: EARLIER },
      null,
    ],
  ];
  for (const [title, write, resolvedAt] of imports) {
    test(`a thread is created at the supplied time: ${title}`, async () => {
      const c = await Conversation.in(lab);
      await c.newThread('t', { createdAt: EARLIER, ...write });
      const thread = await c.thread('t');
      assert.deepEqual([thread.createdAt, thread.resolvedAt], [EARLIER, resolvedAt]);
    });
  }

  const updates: readonly [field: string, write: StoredThreadWrite, expected: Partial<ThreadRecord>][] = [
    ['name', { name: 'New' }, { name: 'New' }],
    ['url', { url: 'https://example.org/2' }, { url: 'https://example.org/2' }],
    ['url with null, which clears it', { url: null }, { url: null }],
    ['location', { location: '{"page":"2"}' }, { location: '{"page":"2"}' }],
    ['location with null, which clears it', { location: null }, { location: null }],
    ['metadata', { metadata: '{"b":[2]}' }, { metadata: '{"b":[2]}' }],
    ['resolved with false', { resolved: false }, { resolvedAt: null }],
  ];
  for (const [field, write, expected] of updates) {
    test(`an update of ${field} changes only that, and the revision`, async () => {
      const c = await Conversation.in(lab);
      await c.newThread('t', EVERY_FIELD, { now: START });
      const before = await c.thread('t');
      assert.equal((await c.putThread('t', write, { revision: 'next' })).kind, 'updated');
      assert.deepEqual(await c.thread('t'), { ...before, ...expected, revision: 'next' });
    });
  }

  test('`resolved` is set at the time of the write, and stays as it is when it is repeated', async () => {
    const c = await Conversation.withThread(lab);
    assert.equal((await c.putThread('t', { resolved: true }, { now: START + 60_000 })).kind, 'updated');
    assert.equal((await c.putThread('t', { resolved: true }, { now: START + 70_000 })).kind, 'unchanged');
    assert.equal((await c.thread('t')).resolvedAt, START + 60_000);
    await c.putThread('t', { resolved: false });
    assert.equal((await c.thread('t')).resolvedAt, null);
    await c.putThread('t', { resolved: true }, { now: START + 80_000 });
    assert.equal((await c.thread('t')).resolvedAt, START + 80_000);
  });

  const same: readonly StoredThreadWrite[] = [{}, { groupId: 'g' }, EVERY_FIELD];
  for (const write of same) {
    test(`an update with the stored values of ${Object.keys(write)} leaves the thread unchanged`, async () => {
      const c = await Conversation.in(lab);
      await c.newThread('t', EVERY_FIELD);
      const before = await c.thread('t');
      assert.deepEqual(await c.putThread('t', write), { kind: 'unchanged', changes: [] });
      assert.deepEqual(await c.thread('t'), before);
    });
  }

  test('an ID may have any legal characters, and IDs compare by their code points', async () => {
    const c = await Conversation.in(lab);
    const ids = ['a/b', 'A/B', '..', "'; --", '"\\', '\u{1f600}', 'é', 'e\u0301'];
    for (const id of ids) await c.newThread(id, { name: `name of ${id}`, location: JSON.stringify({ id }) });
    for (const id of ids) assert.equal((await c.thread(id)).name, `name of ${id}`);
    assert.deepEqual((await c.threadIds()).sort(), [...ids].sort());
  });

  test('exactly one of twenty racing creations of one thread is `created`', async () => {
    const c = await Conversation.in(lab);
    const outcomes = await Promise.all(
      numbered('N', 20).map((name) =>
        c.putThread('t', { groupId: 'g', name }, { ifNoneMatch: '*', revision: name }),
      ),
    );
    const winner = outcomes.findIndex(({ kind }) => kind === 'created');
    assert.equal(outcomes.filter(({ kind }) => kind === 'exists').length, 19);
    assert.equal((await c.thread('t')).name, numbered('N', 20)[winner]);
  });
}

function threadErrors(lab: StoreLab): void {
  const FIELDS_REQUIRED = { kind: 'fieldsRequired', fields: ['groupID', 'name'] };
  const ABSENT = { kind: 'absent' };
  const NO_GROUP = { kind: 'groupUnavailable', groupId: 'none', isDeleted: false };
  const future = (...fields: string[]) => ({ kind: 'futureTimes', fields });
  const fixed = (...fields: string[]) => ({ kind: 'fixedFields', fields });
  const NEW = { groupId: 'g', name: 'N' };

  const creations: readonly [title: string, write: StoredThreadWrite, expected: object, given?: Given][] = [
    ['without group and name lacks both', { url: null }, FIELDS_REQUIRED],
    ['without a name lacks that', { groupId: 'g' }, { ...FIELDS_REQUIRED, fields: ['name'] }],
    ['without a group lacks that', { name: 'N' }, { ...FIELDS_REQUIRED, fields: ['groupID'] }],
    [
      'that lacks fields is rejected before the group is checked',
      { groupId: 'none' },
      { ...FIELDS_REQUIRED, fields: ['name'] },
    ],
    [
      'in the future is rejected',
      { ...NEW, createdAt: START + 1, resolvedAt: START + 1 },
      future('createdTimestamp', 'resolvedTimestamp'),
      { now: START },
    ],
    [
      'in the future, of an unknown group, is rejected',
      { groupId: 'none', name: 'N', createdAt: START + 1 },
      future('createdTimestamp'),
      { now: START },
    ],
    [
      'in the future without a name lacks that',
      { groupId: 'g', createdAt: START + 1 },
      { ...FIELDS_REQUIRED, fields: ['name'] },
      { now: START },
    ],
    [
      'in the future with `ifMatch` is stale',
      { ...NEW, createdAt: START + 1 },
      STALE,
      { now: START, ifMatch: '*' },
    ],
    ['of an unknown group is rejected', { ...NEW, groupId: 'none' }, NO_GROUP],
    ['of a deleted group is rejected', { ...NEW, groupId: 'shut' }, SHUT],
    ['that imports into an unknown group is rejected', { ...NEW, groupId: 'none', createdAt: 1 }, NO_GROUP],
    ['that must be in a group already is absent', { ...NEW, inGroup: 'g' }, ABSENT],
    ['that must be in a group already is absent before it lacks fields', { inGroup: 'g' }, ABSENT],
    ['with `ifMatch` is stale', NEW, STALE, { ifMatch: ['r'] }],
    ['with `ifMatch` of any revision is stale', NEW, STALE, { ifMatch: '*' }],
    ['with `ifMatch` is stale where fields are missing too', {}, STALE, { ifMatch: '*' }],
    ['of an unknown group without a name is rejected', { groupId: 'none' }, NO_GROUP, { ifMatch: '*' }],
    [
      'of an unknown group is rejected before the precondition is checked',
      { ...NEW, groupId: 'none' },
      NO_GROUP,
      { ifMatch: '*' },
    ],
  ];
  for (const [title, write, expected, given] of creations) {
    test(`a thread to be created ${title}, and nothing is created`, async () => {
      const c = await Conversation.in(lab);
      assert.deepEqual(await c.putThread('t', write, given), expected);
      assert.equal(await c.findThread('t'), null);
      assert.deepEqual(await c.recorded(), []);
    });
  }

  const IMPORTED = { createdAt: EARLIER, resolvedAt: EARLIER + 1 };
  const fixedFields: readonly [title: string, write: StoredThreadWrite, expected: object, given?: Given][] = [
    ['another group', { groupId: 'h' }, fixed('groupID')],
    ['another group that it must be in', { groupId: 'h', inGroup: 'h' }, ABSENT, { ifMatch: ['other'] }],
    ['an unknown group', { groupId: 'none' }, fixed('groupID')],
    ['another time of creation', { createdAt: EARLIER + 1 }, fixed('createdTimestamp')],
    ['another time of resolution', { resolvedAt: EARLIER }, fixed('resolvedTimestamp')],
    [
      'another group and other times',
      { groupId: 'none', createdAt: 1, resolvedAt: 1 },
      fixed('groupID', 'createdTimestamp', 'resolvedTimestamp'),
    ],
    ['another group, before the precondition', { groupId: 'h' }, fixed('groupID'), { ifMatch: ['other'] }],
    ['a revision that it does not have', { name: 'X' }, STALE, { ifMatch: ['other'] }],
    ['a revision that it must not have', { name: 'X' }, STALE, { ifNoneMatch: ['now'] }],
    ['the condition that it is not there', { name: 'X' }, { kind: 'exists' }, { ifNoneMatch: '*' }],
  ];
  for (const [title, write, expected, given] of fixedFields) {
    test(`an update with ${title} is rejected, and changes nothing`, async () => {
      const c = await Conversation.in(lab);
      await c.newThread('t', IMPORTED, { revision: 'now' });
      const before = await c.thread('t');
      assert.deepEqual(await c.putThread('t', { name: 'X', ...write }, given), expected);
      assert.deepEqual(await c.thread('t'), before);
    });
  }

  const taken: readonly [title: string, write: StoredThreadWrite, expected: object][] = [
    ['of an unknown group', { ...NEW, groupId: 'none' }, NO_GROUP],
    ['of a deleted group', { ...NEW, groupId: 'shut' }, SHUT],
    ['imported into an unknown group', { ...NEW, groupId: 'none', createdAt: 1 }, NO_GROUP],
  ];
  for (const [title, write, expected] of taken) {
    test(`a thread to be created ${title} has the same error where a thread has its ID, before \`exists\``, async () => {
      const c = await Conversation.withThread(lab);
      const before = await c.thread('t');
      assert.deepEqual(await c.putThread('new', write, { ifNoneMatch: '*' }), expected);
      assert.deepEqual(await c.putThread('t', write, { ifNoneMatch: '*' }), expected);
      assert.deepEqual(await c.thread('t'), before);
    });
  }

  test('a thread to be created in an active group, or imported, is `exists` where a thread of any group has its ID', async () => {
    const c = await Conversation.withThread(lab);
    await c.newThread('s', { groupId: 'shut', createdAt: EARLIER });
    for (const [id, write] of [
      ['t', NEW],
      ['t', { ...NEW, groupId: 'h' }],
      ['t', { ...NEW, groupId: 'shut', createdAt: EARLIER }],
      ['s', NEW],
    ] as const)
      assert.deepEqual(await c.putThread(id, write, { ifNoneMatch: '*' }), { kind: 'exists' });
    assert.deepEqual(await c.putThread('s', { name: 'X' }, { ifNoneMatch: '*' }), SHUT);
  });

  test('an update may repeat the group and both times of an import, and has the revision that it requires', async () => {
    const c = await Conversation.in(lab);
    await c.newThread('t', IMPORTED, { revision: 'now' });
    const repeated = { ...IMPORTED, groupId: 'g' };
    assert.equal((await c.putThread('t', { ...repeated, name: 'X' }, { ifMatch: ['now'] })).kind, 'updated');
    assert.equal((await c.putThread('t', { name: 'Y' }, { ifMatch: '*' })).kind, 'updated');
  });

  test('an update may repeat times that are in the future by the clock of its process', async () => {
    const c = await Conversation.in(lab);
    const times = { createdAt: START + 1, resolvedAt: START + 2 };
    await c.newThread('t', times, { now: START + 2 });
    assert.equal((await c.putThread('t', { ...times, name: 'X' }, { now: START })).kind, 'updated');
    assert.deepEqual(
      await c.putThread('t', { createdAt: START + 2 }, { now: START }),
      fixed('createdTimestamp'),
    );
  });

  test('a thread that was never resolved has no time of resolution that could be repeated', async () => {
    const c = await Conversation.withThread(lab);
    assert.deepEqual(
      await c.putThread('t', { resolved: true, resolvedAt: START }),
      fixed('resolvedTimestamp'),
    );
  });

  test('a deleted group takes imports, and updates that repeat the time of creation, but no others', async () => {
    const c = await Conversation.in(lab);
    await c.newThread('t', { groupId: 'shut', createdAt: EARLIER });
    assert.equal((await c.thread('t')).groupId, 'shut');
    assert.deepEqual(await c.putThread('t', { name: 'X' }), SHUT);
    assert.deepEqual(await c.putThread('t', { name: 'X' }, { ifMatch: ['other'] }), SHUT);
    assert.deepEqual(await c.putThread('t', { createdAt: 1 }), fixed('createdTimestamp'));
    assert.equal((await c.putThread('t', { name: 'X', createdAt: EARLIER })).kind, 'updated');
    await c.putGroup('shut', { status: 'active' });
    assert.equal((await c.putThread('t', { name: 'Y' })).kind, 'updated');
  });

  test('a thread of a group that is set deleted is read, and is removed', async () => {
    const c = await Conversation.withThread(lab);
    await c.putGroup('g', { status: 'deleted' });
    assert.equal((await c.thread('t')).groupId, 'g');
    assert.deepEqual(await c.threadIds({ groupId: 'g' }), ['t']);
    assert.equal((await c.deleteThread('t')).kind, 'deleted');
  });
}
