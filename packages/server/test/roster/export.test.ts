import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { compareCodePoints } from '@rollcall/protocol';
import { oneServer } from '../support/one-server.ts';
import { type Project, segment } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';
import {
  counts,
  exportText,
  flagsOf,
  jsonLines,
  partOfRealRoster,
  rosterSet,
  runCli,
  startCli,
  syncText,
} from './roster-cli.ts';

const server = oneServer();

/** Something of everything that a roster can say, in the order and form in which it is exported. */
const everything = [
  { type: 'user', id: '.', metadata: { nested: [{ a: null }], '10': 1.5 } },
  { type: 'user', id: 'a b/c?d#e', email: 'a@b.example' },
  {
    type: 'user',
    id: 'ada',
    name: 'Ada',
    short_name: 'A',
    email: 'ada@x.example',
    profile_picture_url: 'https://x.example/a',
  },
  { type: 'user', id: 'gone', name: 'Gone', status: 'deleted' },
  { type: 'user', id: '\uffee' },
  { type: 'user', id: '😀' },
  { type: 'group', id: '.', name: 'Dot', members: ['.'] },
  { type: 'group', id: '..', name: 'Dots', members: ['.', 'gone', '😀'] },
  { type: 'group', id: '100% / & \u00e9', name: 'Percent', members: [] },
  {
    type: 'group',
    id: 'closed',
    name: 'Closed',
    status: 'deleted',
    members: ['ada'],
    metadata: { kind: 'team' },
  },
];

const idsOf = (text: string, type: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; id: string })
    .filter((item) => item.type === type)
    .map(({ id }) => id);

describe('rollcall export', () => {
  test('an export of a real roster has the same users and groups, users first, in order of ID', async () => {
    const project = await server.project();
    const roster = await partOfRealRoster();
    await syncText(project, roster);
    const exported = await exportText(project);
    assert.deepEqual(rosterSet(exported), rosterSet(roster));
    const types = exported
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(0, 14));
    assert.equal(types.lastIndexOf('{"type":"user"'), 3_567);
    for (const type of ['user', 'group']) {
      const ids = idsOf(exported, type);
      assert.deepEqual(ids, ids.toSorted(compareCodePoints));
    }
  });

  test('an export leaves out fields at their default and writes all others', async () => {
    const project = await server.project();
    await syncText(project, jsonLines(everything));
    assert.equal(await exportText(project), jsonLines(everything));
  });

  test('an export that is synced fills an empty project with the same roster, and leaves its own project unchanged', async () => {
    const [project, copy] = [await server.project(), await server.project()];
    await syncText(project, jsonLines(everything));
    const exported = await exportText(project);
    assert.deepEqual((await syncText(project, exported)).json.groups, counts(0, 0, 4));
    assert.deepEqual((await syncText(project, exported)).json.users, counts(0, 0, 6));
    assert.equal((await syncText(copy, exported)).code, 0);
    assert.equal(await exportText(copy), exported);
  });

  test('an export has whole lists of members, however long', async () => {
    const project = await server.project();
    const ids = Array.from({ length: 10_500 }, (_, index) => `u${String(index).padStart(5, '0')}`);
    const users = ids.map((id) => ({ type: 'user', id }));
    const roster = jsonLines([...users, { type: 'group', id: 'everyone', name: 'E', members: ids }]);
    await syncText(project, roster);
    assert.equal(await exportText(project), roster);
  });

  test('an export of an empty project is empty', async () => {
    assert.equal(await exportText(await server.project()), '');
  });

  test('an export skips groups that are deleted while it reads', async () => {
    const project = await server.project();
    // One page of the list, and much more than fits between the two processes.
    const names = Array.from({ length: 1_000 }, (_, index) => `g${String(index).padStart(4, '0')}`);
    const metadata = { text: 'x'.repeat(4_000) };
    await syncText(project, jsonLines(names.map((id) => ({ type: 'group', id, name: id, metadata }))));
    const { stdout, ended } = startCli(['export', '--quiet', ...flagsOf(project)]);
    await once(stdout, 'data');
    stdout.pause();
    await deleteGroups(project, names.slice(500));
    stdout.resume();
    const { code, stdout: text } = await ended;
    assert.equal(code, 0);
    assert.deepEqual(idsOf(text.toString(), 'group'), names.slice(0, 500));
  });
});

async function deleteGroups(project: Project, ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += 50) {
    const some = ids.slice(start, start + 50).map((id) => project.delete(`/v1/groups/${segment(id)}`));
    for (const { status } of await Promise.all(some)) assert.equal(status, 200);
  }
}

describe('the output of rollcall export', () => {
  test('export --output makes a file that has its name only when it is whole', async () => {
    const project = await server.project();
    await syncText(project, jsonLines(everything));
    await withDataDir(async (directory) => {
      const path = join(directory, 'roster.jsonl.gz');
      await writeFile(path, 'what was there before');
      const rejected = await runCli(['export', '--output', path, '--url', project.url, '--token', 'x.y.z']);
      assert.equal(rejected.code, 1);
      assert.equal(await readFile(path, 'utf8'), 'what was there before');
      const { code, stdout, stderr } = await runCli([
        'export',
        '--gzip',
        '--output',
        path,
        ...flagsOf(project),
      ]);
      assert.equal(code, 0);
      assert.equal(stdout.length, 0);
      assert.match(stderr, /exported 6 users, 4 groups, 0 threads, 0 messages\n$/);
      assert.equal(gunzipSync(await readFile(path)).toString(), jsonLines(everything));
      assert.deepEqual(await readdir(directory), ['roster.jsonl.gz']);
    });
  });

  test('export --gzip writes to a pipe what sync reads from a pipe', async () => {
    const project = await server.project();
    await syncText(project, jsonLines(everything));
    const sync = startCli(['sync', '-', '--json', ...flagsOf(project)]);
    startCli(['export', '--gzip', ...flagsOf(project)]).stdout.pipe(sync.stdin);
    const { code, stdout } = await sync.ended;
    assert.deepEqual([code, JSON.parse(stdout.toString()).users], [0, counts(0, 0, 6)]);
  });

  test('export ends without a message when the reader of its output has ended', async () => {
    const project = await server.project();
    const users = Array.from({ length: 20_000 }, (_, index) => ({ type: 'user', id: `user ${index}` }));
    await syncText(project, jsonLines(users));
    const { stdout, ended } = startCli(['export', '--quiet', ...flagsOf(project)]);
    stdout.once('data', () => stdout.destroy());
    assert.equal((await ended).stderr, '');
  });

  test('export --output into a directory that does not exist fails with one line', async () => {
    const project = await server.project();
    await withDataDir(async (directory) => {
      const path = join(directory, 'missing', 'roster.jsonl');
      const { code, stderr } = await runCli(['export', '--quiet', '--output', path, ...flagsOf(project)]);
      assert.deepEqual([code, stderr], [1, `rollcall: cannot write ${path}: no such file or directory\n`]);
    });
  });
});
