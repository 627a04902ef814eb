import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { progressDisplay } from '../../src/cli/progress-display.ts';
import type { RecordFile } from '../../src/cli/records/record-file.ts';
import { ApiConnection } from '../../src/cli/roster/api-connection.ts';
import type { BatchLimits } from '../../src/cli/roster/batch-planner.ts';
import { applyLines } from '../../src/cli/roster/batch-request.ts';
import { LineCheck } from '../../src/cli/roster/check-lines.ts';
import { syncRoster } from '../../src/cli/roster/sync-roster.ts';
import { fixedToken } from '../../src/cli/roster/token-source.ts';
import { closing } from '../support/closing.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { counts, flagsOf, jsonLines, REAL_ROSTER, runCli, syncText } from './roster-cli.ts';

const server = oneServer();

describe('rollcall sync --dry-run', () => {
  test('a dry run of the real roster reports that everything would be created, and creates nothing', async () => {
    const project = await server.project();
    const { code, stdout, stderr } = await runCli([
      'sync',
      REAL_ROSTER,
      '--dry-run',
      '--quiet',
      ...flagsOf(project),
    ]);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.match(
      stdout.toString(),
      /nothing was changed\.\nWould create 3,568 users and 34,345 groups, and update 0/,
    );
    assert.deepEqual(await project.userIds(), []);
    assert.deepEqual(await project.groupIds(), []);
  });

  test('a dry run checks a group that names more new users than a batch takes', async () => {
    const project = await server.project();
    const users = Array.from({ length: 12_000 }, (_, index) => ({ type: 'user', id: `u${index}` }));
    const everyone = { type: 'group', id: 'everyone', name: 'E', members: users.map(({ id }) => id) };
    const strangers = { ...everyone, id: 'strangers', members: [...everyone.members, 'ghost'] };
    const roster = jsonLines([...users, everyone, strangers]);
    const dry = await syncText(project, roster, '--dry-run');
    assert.deepEqual([dry.json.users, dry.json.groups, dry.json.refused], [counts(12_000), counts(1), 1]);
    assert.match(dry.rejections.join('\n'), /^standard input:12002: .*ghost/);
    assert.equal((await syncText(project, roster)).json.refused, 1);
    const again = await syncText(project, jsonLines([...users, everyone]), '--dry-run');
    assert.deepEqual([again.json.users, again.json.groups], [counts(0, 0, 12_000), counts(0, 0, 1)]);
  });

  test('a dry run counts such a group as updated although the server has the last members of its list', async () => {
    const project = await server.project();
    const users = Array.from({ length: 11_000 }, (_, index) => ({ type: 'user', id: `u${index}` }));
    const members = users.map(({ id }) => id);
    const everyone = { type: 'group', id: 'everyone', name: 'E', members };
    const before = [...users.slice(10_000), { ...everyone, members: members.slice(10_000) }];
    await syncText(project, jsonLines(before));
    const { json } = await syncText(project, jsonLines([...users, everyone]), '--dry-run');
    assert.deepEqual([json.users, json.groups], [counts(10_000, 0, 1_000), counts(0, 1)]);
  });

  test('a dry run counts a line about an ID of an earlier line as an update, also across requests', async () => {
    const project = await server.project();
    const roster = jsonLines([
      { type: 'user', id: 'ada', name: 'Ada' },
      { type: 'group', id: 'analysts', name: 'Analysts', members: ['eve'] },
      { type: 'group', id: 'analysts', name: 'Analysts' },
      { type: 'group', id: 'readers', name: 'Readers', members: ['ada'] },
      // Named by the group before, so that it goes in another request.
      { type: 'user', id: 'ada', name: 'Ada Lovelace' },
      { type: 'group', id: 'readers', metadata: { n: 1 } },
    ]);
    const dry = await syncText(project, roster, '--dry-run');
    assert.deepEqual([dry.json.users, dry.json.groups], [counts(1, 1), counts(2, 1)]);
    assert.deepEqual(dry.rejections.length, 1);
  });
});

/** Few IDs and small limits, so that lines build upon each other across requests. */
const userIds = ['a', 'b', 'c', 'd', 'e', 'f'];
const users = fc.shuffledSubarray(userIds).chain((ids) =>
  fc.tuple(
    ...ids.map((id) =>
      fc.record({
        type: fc.constant('user'),
        id: fc.constant(id),
        email: fc.constantFrom('a@b.example', 'c@d.example', 'nowhere@'),
      }),
    ),
  ),
);
const groups = fc.shuffledSubarray(['g', 'h', 'i', 'j']).chain((ids) =>
  fc.tuple(
    ...ids.map((id) =>
      fc.record(
        {
          type: fc.constant('group'),
          id: fc.constant(id),
          name: fc.constantFrom('x', 'y'),
          members: fc.subarray(userIds),
        },
        { requiredKeys: ['type', 'id', 'members'] },
      ),
    ),
  ),
);
const lines = fc.tuple(users, groups).chain(([users, groups]) => {
  const all: readonly object[] = [...users, ...groups];
  return fc.shuffledSubarray([...all], { minLength: all.length });
});
const limits = fc.record({
  users: fc.integer({ min: 1, max: 4 }),
  groups: fc.integer({ min: 2, max: 4 }),
  bytes: fc.constant(300),
});

test('a dry run reports exactly the counts and rejected lines of the run that follows', async () => {
  await fc.assert(
    fc.asyncProperty(lines, lines, limits, async (before, roster, limits) => {
      const project = await server.project();
      await sync(project, before, false, limits);
      const dry = await project.unchanged(() => sync(project, roster, true, limits));
      assert.deepEqual(dry, await sync(project, roster, false, limits));
    }),
    { numRuns: 40 },
  );
});

async function sync(project: Project, items: readonly object[], dryRun: boolean, { ...limits }: BatchLimits) {
  await using connection = closing(
    new ApiConnection({
      url: new URL(project.url),
      tokens: fixedToken(project.token),
      onRetry: assert.fail,
    }),
  );
  const notes: string[] = [];
  const clock = new MovedClock();
  const submit = dryRun ? new LineCheck(connection, limits).submit : applyLines(connection, limits);
  const display = progressDisplay({ write: (text) => notes.push(text) }, clock, true);
  const submitConversation = () => assert.fail('the roster has users and groups alone');
  const run = {
    files: [fileOf(items)],
    submit,
    submitConversation,
    limits,
    concurrency: 3,
    interruption: new AbortController().signal,
    display,
    clock,
  };
  return { ...(await syncRoster(run)), rejectedLines: notes.map((note) => note.split(': ')[0]).sort() };
}

function fileOf(items: readonly object[]): RecordFile {
  return {
    name: 'roster',
    size: null,
    async *read() {
      yield Buffer.from(jsonLines(items));
    },
  };
}
