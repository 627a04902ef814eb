import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchItems, Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function batchErrorContract(lab: StoreLab): void {
  /** A project with one user and one group, which no rejected batch may change. */
  const rejected = async (items: BatchItems | Uint8Array, dryRun = false) => {
    const roster = await lab.projectWithGroup('g', 'ann');
    const before = await roster.everything();
    const outcome = await roster.batch(items, dryRun);
    assert.notEqual(outcome.kind, 'applied');
    assert.deepEqual(await roster.everything(), before, 'nothing is applied');
    return outcome;
  };

  const malformed: readonly [what: string, body: Uint8Array][] = [
    ['no bytes', new Uint8Array()],
    ['text that is not JSON', Buffer.from('{"users":[')],
    ['an array', Buffer.from('[]')],
    ['null', Buffer.from('null')],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ];
  for (const [what, body] of malformed) {
    test(`a batch whose body is ${what} is \`malformed\`, with a message`, async () => {
      const outcome = await rejected(body);
      assert.ok(outcome.kind === 'malformed');
      assert.match(outcome.message, /JSON|UTF-8|empty/);
    });
  }

  const invalidBatches: readonly [
    step: 'unexpected' | 'missing' | 'invalid',
    path: string,
    items: BatchItems,
  ][] = [
    ['unexpected', 'people', { people: [] }],
    ['unexpected', 'users[1].nick', { users: [{ id: 'new' }, { id: 'ann', nick: 'A' }] }],
    ['unexpected', 'groups[0].connectedToMessenger', { groups: [{ id: 'g', connectedToMessenger: true }] }],
    ['missing', 'users[1].id', { users: [{ id: 'new' }, { name: 'N' }] }],
    ['missing', 'groups[0].id', { groups: [{ name: 'N' }] }],
    [
      'missing',
      'groups[1].name',
      {
        groups: [
          { id: 'g', name: 'N' },
          { id: 'new', members: [] },
        ],
      },
    ],
    ['invalid', 'users', { users: {} }],
    ['invalid', 'users[0].id', { users: [{ id: 7 }] }],
    ['invalid', 'users[1].email', { users: [{ id: 'new' }, { id: 'ann', email: 'nowhere' }] }],
    ['invalid', 'groups[0].members[1]', { groups: [{ id: 'g', members: ['ann', null] }] }],
    ['invalid', 'groups[0].status', { groups: [{ id: 'g', status: 'gone' }] }],
  ];
  for (const [step, path, items] of invalidBatches) {
    test(`a batch is \`invalid\` and names ${path} where it is ${step}`, async () => {
      const outcome = await rejected(items);
      assert.ok(outcome.kind === 'invalid');
      assert.equal(outcome.errors[step].count, 1);
      assert.deepEqual(
        outcome.errors[step].named.map((problem) => problem.path),
        [path],
      );
      assert.equal(typeof outcome.errors[step].named[0]?.expected, 'string');
    });
  }

  test('a batch needs no name of a group that exists, or that an earlier item names', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    const outcome = await roster.batch({
      groups: [
        { id: 'g', members: [] },
        { id: 'h', name: 'H' },
        { id: 'h', members: ['ann'] },
      ],
    });
    assert.equal(outcome.kind, 'applied');
  });

  test('a name in a later item of the batch does not count', async () => {
    const outcome = await rejected({
      groups: [
        { id: 'h', members: [] },
        { id: 'h', name: 'H' },
      ],
    });
    assert.ok(outcome.kind === 'invalid');
    assert.deepEqual(
      outcome.errors.missing.named.map(({ path }) => path),
      ['groups[0].name'],
    );
  });

  test('a missing group name is found also where other items of the batch are invalid: missing comes before invalid', async () => {
    const outcome = await rejected({ users: [{ id: 'ann', email: 'nowhere' }], groups: [{ id: 'new' }] });
    assert.ok(outcome.kind === 'invalid');
    assert.deepEqual(
      outcome.errors.missing.named.map(({ path }) => path),
      ['groups[0].name'],
    );
  });

  test('a missing group name is found also where a field is unexpected: each step checks the whole batch', async () => {
    const outcome = await rejected({
      users: [{ id: 'ann', nick: 'A' }],
      groups: [{ id: 'new' }, { id: 'g' }],
    });
    assert.ok(outcome.kind === 'invalid');
    const paths = (problems: { readonly named: readonly { readonly path: string }[] }) =>
      problems.named.map(({ path }) => path);
    assert.deepEqual(paths(outcome.errors.unexpected), ['users[0].nick']);
    assert.deepEqual(paths(outcome.errors.missing), ['groups[0].name']);
  });

  test('a missing group name is reported before unknown users of a batch', async () => {
    const outcome = await rejected({ groups: [{ id: 'g', members: ['nobody'] }, { id: 'new' }] });
    assert.equal(outcome.kind, 'invalid');
  });

  test('the first twenty of many errors of a batch are named, and all are counted', async () => {
    const outcome = await rejected({
      groups: Array.from({ length: 50 }, (_, index) => ({ id: `new${index}` })),
    });
    assert.ok(outcome.kind === 'invalid');
    assert.equal(outcome.errors.missing.count, 50);
    assert.deepEqual(
      outcome.errors.missing.named.map(({ path }) => path),
      Array.from({ length: 20 }, (_, index) => `groups[${index}].name`),
    );
  });

  const tooMany: readonly [path: string, items: () => BatchItems][] = [
    ['users', () => ({ users: Array.from({ length: 10_001 }, (_, index) => ({ id: `u${index}` })) })],
    [
      'groups',
      () => ({ groups: Array.from({ length: 1_001 }, (_, index) => ({ id: `g${index}`, name: 'N' })) }),
    ],
    // Names are not checked at this step.
    ['groups', () => ({ groups: Array.from({ length: 1_001 }, (_, index) => ({ id: `new${index}` })) })],
  ];
  for (const [path, items] of tooMany) {
    test(`more ${path} than the limit of a batch are \`invalid\`, as ${JSON.stringify(items()).slice(0, 40)}…`, async () => {
      const outcome = await rejected(items());
      assert.ok(outcome.kind === 'invalid');
      assert.deepEqual(
        outcome.errors.invalid.named.map((problem) => problem.path),
        [path],
      );
    });
  }

  test('unknown users of a batch are named item by item, each with its JSON path', async () => {
    const outcome = await rejected({
      users: [{ id: 'new' }],
      groups: [
        { id: 'h', name: 'H', members: ['zed', 'new', 'moe', 'zed'] },
        { id: 'g', members: ['ann'] },
        { id: 'g', members: ['moe'] },
      ],
    });
    assert.deepEqual(outcome, {
      kind: 'unknownUsers',
      count: 2,
      references: [
        { path: 'groups[0].members', users: { count: 2, ids: ['zed', 'moe'] } },
        { path: 'groups[2].members', users: { count: 1, ids: ['moe'] } },
      ],
    });
  });

  test('unknown users are named in every item of a group that the batch would create, not only in the first', async () => {
    const outcome = await rejected({
      groups: [
        { id: 'h', name: 'H', members: ['zed'] },
        { id: 'h', members: ['moe'] },
        { id: 'h', members: ['ann'] },
      ],
    });
    assert.ok(outcome.kind === 'unknownUsers');
    assert.deepEqual(
      outcome.references.map(({ path }) => path),
      ['groups[0].members', 'groups[1].members'],
    );
  });

  test('the first twenty of many items of a batch with unknown users are named, and all are counted', async () => {
    const groups = Array.from({ length: 30 }, (_, index) => ({
      id: `h${index}`,
      name: 'H',
      members: [`u${index}`],
    }));
    const outcome = await rejected({ groups });
    assert.ok(outcome.kind === 'unknownUsers');
    assert.equal(outcome.count, 30);
    assert.deepEqual(
      outcome.references.map(({ path }) => path),
      Array.from({ length: 20 }, (_, index) => `groups[${index}].members`),
    );
  });

  test('the first twenty of many unknown users in one item of a batch are named, and all are counted', async () => {
    const members = Array.from({ length: 100 }, (_, index) => `u${100 - index}`);
    const outcome = await rejected({ groups: [{ id: 'g', members }] });
    assert.ok(outcome.kind === 'unknownUsers');
    assert.deepEqual(outcome.references[0]?.users, { count: 100, ids: members.slice(0, 20) });
  });

  test('an error in the last item of a batch rolls back all items before it', async () => {
    const users = Array.from({ length: 500 }, (_, index) => ({ id: `u${index}`, name: 'N' }));
    const groups = Array.from({ length: 100 }, (_, index) => ({
      id: `h${index}`,
      name: 'H',
      members: [`u${index}`],
    }));
    const outcome = await rejected({
      users: [{ id: 'ann', status: 'deleted' }, ...users],
      groups: [
        { id: 'g', name: 'Renamed', members: [] },
        ...groups,
        { id: 'last', name: 'L', members: ['nobody'] },
      ],
    });
    assert.equal(outcome.kind, 'unknownUsers');
  });

  const faults: readonly BatchItems[] = [
    { users: [{ id: 'ann', nick: 'A' }] },
    { groups: [{ id: 'new' }] },
    { users: [{ id: 'new' }], groups: [{ id: 'g', members: ['new', 'nobody'] }] },
  ];
  test('a dry run of a batch has the errors of the batch itself', async () => {
    for (const items of faults) assert.deepEqual(await rejected(items, true), await rejected(items, false));
  });

  test('a rejected batch does not affect a batch that waits at the same time', async () => {
    const roster: Roster = await lab.project();
    const outcomes = await Promise.all([
      roster.batch({ users: [{ id: 'one' }] }),
      roster.batch({ users: [{ id: 'two' }], groups: [{ id: 'g', name: 'G', members: ['nobody'] }] }),
      roster.batch(Buffer.from('{')),
      roster.batch({ users: [{ id: 'three' }] }),
    ]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['applied', 'unknownUsers', 'malformed', 'applied'],
    );
    assert.equal((await roster.user('one')).status, 'active');
    assert.equal((await roster.user('three')).status, 'active');
    assert.equal(await lab.store.users.find(roster.key, 'two'), null);
  });
}
