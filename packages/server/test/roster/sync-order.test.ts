import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LineOrigin } from '../../src/cli/records/record-line.ts';
import { type Batch, type BatchLimits, planBatches } from '../../src/cli/roster/batch-planner.ts';
import { RunStopped, runBatches } from '../../src/cli/roster/batch-runner.ts';
import { type Entry, entryOf, type Kind } from '../../src/cli/roster/roster-entry.ts';
import {
  type Changes,
  type LineReport,
  type Submit,
  submitLines,
} from '../../src/cli/roster/submit-lines.ts';
import { BAD_NAME, RosterModel, sumOf } from './roster-model.ts';

/** Few IDs, so that lines have much to do with each other. */
const id = fc.constantFrom('a', 'b', 'c', 'd', 'users[0]');
const name = fc.option(fc.constantFrom('x', 'y', BAD_NAME), { nil: undefined, freq: 3 });
const userItem = fc.record({ kind: fc.constant<Kind>('user'), id, name });
const groupItem = fc.record({
  kind: fc.constant<Kind>('group'),
  id,
  name,
  members: fc.option(fc.array(id, { maxLength: 3 }), { nil: undefined }),
});
const roster = fc.array(fc.oneof(userItem, groupItem), { maxLength: 30 }).map((lines) =>
  lines.map(({ kind, ...fields }, index) => {
    const item = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    return entryOf(kind, item, { file: 'roster', line: index + 1 });
  }),
);
const limits = fc.record({
  users: fc.integer({ min: 1, max: 6 }),
  groups: fc.integer({ min: 1, max: 6 }),
  bytes: fc.integer({ min: 24, max: 400 }),
});

class Notes implements LineReport {
  readonly changes: Changes[] = [];
  readonly rejections = new Map<number, string>();

  applied(changes: Changes): void {
    this.changes.push(changes);
  }

  rejected({ line }: LineOrigin, reason: string): void {
    assert.ok(!this.rejections.has(line), `line ${line} is rejected twice`);
    this.rejections.set(line, reason);
  }
}

async function* streamOf<Item>(items: Iterable<Item>) {
  yield* items;
}

/** Plans batches of users and groups alone. */
const plan = (entries: AsyncIterable<Entry>, limits: BatchLimits) =>
  planBatches(entries, limits) as AsyncGenerator<Batch>;

function run(
  entries: readonly Entry[],
  limits: BatchLimits,
  concurrency: number,
  submit: Submit,
  report: LineReport,
) {
  return runBatches(plan(streamOf(entries), limits), concurrency, ({ entries }) =>
    submitLines(entries, submit, report),
  );
}

/** The lines one by one. */
function sequentially(entries: readonly Entry[]) {
  const model = new RosterModel();
  const notes = new Notes();
  for (const entry of entries) {
    const verdict = model.apply([entry]);
    if (verdict.kind === 'applied') notes.applied(verdict.changes);
    else notes.rejected(entry.origin, verdict.reason);
  }
  return { state: model.state, rejections: notes.rejections, changes: sumOf(notes.changes) };
}

test('concurrent batches have the outcome of the lines one by one, rejected lines and counts included', async () => {
  await fc.assert(
    fc.asyncProperty(
      roster,
      limits,
      fc.integer({ min: 1, max: 4 }),
      fc.scheduler(),
      async (entries, limits, concurrency, scheduler) => {
        const model = new RosterModel();
        const notes = new Notes();
        const submit: Submit = async (sent) => {
          await scheduler.schedule(Promise.resolve(), `before ${sent.length} lines`);
          const verdict = model.apply(sent);
          await scheduler.schedule(Promise.resolve(), 'after');
          return verdict;
        };
        await scheduler.waitFor(run(entries, limits, concurrency, submit, notes));
        const outcome = { state: model.state, rejections: notes.rejections, changes: sumOf(notes.changes) };
        const expected = sequentially(entries);
        assert.deepEqual(outcome.state, expected.state);
        assert.deepEqual([...outcome.rejections.keys()].sort(), [...expected.rejections.keys()].sort());
        assert.deepEqual(outcome.changes, expected.changes);
      },
    ),
    { numRuns: 500 },
  );
});

test('lines that are too large together are halved until they fit, or are rejected one by one', async () => {
  await fc.assert(
    fc.asyncProperty(roster, fc.integer({ min: 0, max: 5 }), async (entries, most) => {
      const sent: Entry[] = [];
      const notes = new Notes();
      const submit: Submit = async (lines) => {
        if (lines.length > most) return { kind: 'tooLarge', reason: 'too large' };
        sent.push(...lines);
        return { kind: 'applied', changes: sumOf([]) };
      };
      await submitLines(entries, submit, notes);
      assert.deepEqual(sent, most === 0 ? [] : entries);
      assert.equal(notes.rejections.size, most === 0 ? entries.length : 0);
    }),
  );
});

const user = (id: string, line: number) => entryOf('user', { id }, { file: 'roster', line });
const group = (id: string, members: string[], line: number) =>
  entryOf('group', { id, name: id, members }, { file: 'roster', line });
const roomy = { users: 10, groups: 10, bytes: 10_000 };

async function batchesOf(entries: readonly Entry[], limits: BatchLimits = roomy): Promise<string[]> {
  const batches = await Array.fromAsync(plan(streamOf(entries), limits));
  return batches.map((batch) => batch.entries.map(({ id }) => id).join(' '));
}

test('a batch stays within the limits of users, groups and bytes', async () => {
  const users = ['a', 'b', 'c'].map((id, index) => user(id, index + 1));
  assert.deepEqual(await batchesOf(users, { ...roomy, users: 2 }), ['a b', 'c']);
  const groups = ['g', 'h', 'i'].map((id, index) => group(id, [], index + 1));
  assert.deepEqual(await batchesOf(groups, { ...roomy, groups: 2 }), ['g h', 'i']);
  assert.deepEqual(await batchesOf([...users, ...groups], { ...roomy, users: 3, groups: 3 }), [
    'a b c g h i',
  ]);
  const [first] = users;
  const twoUsers = '{"users":[{"id":"a"},{"id":"b"}],"groups":[]}'.length;
  assert.equal(first?.json, '{"id":"a"}');
  assert.deepEqual(await batchesOf(users, { ...roomy, bytes: twoUsers + 1 }), ['a b', 'c']);
});

test('a user after a group that names the user is sent in a later batch, any other user in the same', async () => {
  assert.deepEqual(await batchesOf([group('g', ['a'], 1), user('a', 2)]), ['g', 'a']);
  assert.deepEqual(await batchesOf([group('g', ['a'], 1), user('b', 2)]), ['g b']);
  assert.deepEqual(await batchesOf([user('a', 1), group('g', ['a'], 2)]), ['a g']);
});

test('lines before a failure of the file are still sent', async () => {
  async function* failing() {
    yield user('a', 1);
    throw new Error('damaged');
  }
  const sent: string[] = [];
  const running = runBatches(plan(failing(), roomy), 2, async ({ entries }) => {
    sent.push(...entries.map(({ id }) => String(id)));
  });
  await assert.rejects(running, /damaged/);
  assert.deepEqual(sent, ['a']);
});

test('after a failure no batch starts, batches under way end, and the error names the first line of the earliest failure', async () => {
  const entries = Array.from({ length: 6 }, (_, index) => user(`u${index}`, index + 1));
  const failing = ['u1', 'u2'];
  const gates = new Map(entries.map(({ id }) => [id, Promise.withResolvers<void>()]));
  const started: (string | null)[] = [];
  const running = runBatches(plan(streamOf(entries), { ...roomy, users: 1 }), 3, async ({ entries }) => {
    const id = entries[0]?.id ?? null;
    started.push(id);
    await gates.get(id)?.promise;
    if (id !== null && failing.includes(id)) throw new Error(`no answer for ${id}`);
  });
  gates.get('u2')?.resolve();
  gates.get('u0')?.resolve();
  setImmediate(() => gates.get('u1')?.resolve());
  await assert.rejects(running, (error) => {
    assert.ok(error instanceof RunStopped);
    assert.deepEqual(error.origin, { file: 'roster', line: 2 });
    return /no answer for u1/.test(error.message);
  });
  assert.deepEqual(started, ['u0', 'u1', 'u2']);
});
