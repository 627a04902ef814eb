import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { oneServer } from '../support/one-server.ts';
import { counts, flagsOf, jsonLines, REAL_ROSTER, runCli, syncText, withFile } from './roster-cli.ts';

const server = oneServer();

const ada = { type: 'user', id: 'ada', name: 'Ada' };
const analysts = { type: 'group', id: 'analysts', name: 'Analysts', members: ['ada'] };

describe('rollcall sync of the real roster', () => {
  test('sync applies the real roster without a rejected line, and leaves everything unchanged the second time', async () => {
    const project = await server.project();
    const sync = () => runCli(['sync', REAL_ROSTER, '--json', '--quiet', ...flagsOf(project)]);
    const first = await sync();
    assert.equal(first.stderr, '');
    assert.equal(first.code, 0);
    const { users, groups, refused } = JSON.parse(first.stdout.toString());
    assert.deepEqual([users, groups, refused], [counts(3_568), counts(34_345), 0]);
    const second = JSON.parse((await sync()).stdout.toString());
    assert.deepEqual([second.users, second.groups], [counts(0, 0, 3_568), counts(0, 0, 34_345)]);
    const { pagination } = (await project.get('/v1/groups/section%2Fpython/members?limit=1')).json<{
      pagination: { total: number };
    }>();
    assert.ok(pagination.total > 100);
  });
});

describe('rejected lines', () => {
  const roster = [
    JSON.stringify(ada),
    'not json',
    '{"type":"user","id":"bob","email":"nowhere@"}',
    '',
    '{"type":"user","id":"cyd","nick":"c"}',
    '{"type":"group","id":"g","name":"G","members":["ada","ghost"]}',
    '{"type":"group","id":"h","members":["ada"]}',
    '{"type":"team","id":"t"}',
    JSON.stringify(analysts),
    '{"type":"user","id":5}',
    '{"type":"user"}',
  ].join('\n');

  test('rejected lines are named with file, line number and reason, the others are applied, and the exit code is 1', async () => {
    const project = await server.project();
    await withFile(roster, async (path) => {
      const { code, stdout, stderr } = await runCli(['sync', path, '--json', ...flagsOf(project)]);
      const reasons = new Map(
        stderr.split('\n').flatMap((line) => {
          const [, number, reason] = /:(\d+): rejected: (.*)$/.exec(line) ?? [];
          if (reason !== undefined) assert.ok(line.startsWith(`${path}:`));
          return reason === undefined ? [] : [[Number(number), reason]];
        }),
      );
      assert.deepEqual(
        [...reasons.keys()].sort((a, b) => a - b),
        [2, 3, 5, 6, 7, 8, 10, 11],
      );
      assert.match(reasons.get(2) ?? '', /not valid JSON/);
      assert.match(reasons.get(3) ?? '', /^invalid_field: .*\bemail\b/);
      assert.match(reasons.get(5) ?? '', /^unexpected_field: .*\bnick\b/);
      assert.match(reasons.get(6) ?? '', /^user_not_found: .*\bghost\b/);
      assert.match(reasons.get(7) ?? '', /^missing_field: .*\bname\b/);
      assert.match(reasons.get(8) ?? '', /unknown type/);
      assert.match(reasons.get(10) ?? '', /^invalid_field: .*\bid\b/);
      assert.match(reasons.get(11) ?? '', /^missing_field: .*\bid\b/);
      assert.doesNotMatch(stderr, /\[\d/, 'a place in a request says nothing about a file');
      assert.match(stderr, /8 lines were rejected/);
      const { users, groups, refused, complete } = JSON.parse(stdout.toString());
      assert.deepEqual([users, groups, refused, complete], [counts(1), counts(1), 8, true]);
      assert.equal(code, 1);
    });
    assert.deepEqual(await project.userIds(), ['ada']);
    assert.deepEqual(await project.groupIds(), ['analysts']);
  });

  test('rejected lines are all named where they are more than one answer names', async () => {
    const project = await server.project();
    const groups = Array.from({ length: 150 }, (_, index) => ({
      type: 'group',
      id: `g${index}`,
      name: 'G',
      members: index % 3 === 0 ? ['ada'] : ['ada', 'users[0]'],
    }));
    const { code, rejections, json } = await syncText(project, jsonLines([ada, ...groups]));
    assert.equal(code, 1);
    assert.equal(json.refused, 100);
    assert.deepEqual([json.users, json.groups], [counts(1), counts(50)]);
    assert.equal(rejections.length, 100);
    assert.ok(
      rejections.includes(
        'standard input:3: rejected: user_not_found: users that do not exist in members (user users[0])',
      ),
    );
  });

  test('a rejected line leads to no rejection of a user whom it only mentions', async () => {
    const project = await server.project();
    const mention = { type: 'group', id: 'g', name: 'G', members: ['users[0]', 'groups[1]'] };
    const { rejections, json } = await syncText(project, jsonLines([ada, mention, analysts]));
    assert.equal(rejections.length, 1);
    assert.match(rejections[0] ?? '', /^standard input:2: /);
    assert.deepEqual([json.users, json.groups], [counts(1), counts(1)]);
  });
});

describe('the files of rollcall sync', () => {
  test('files are read in the order in which they are named, and - is standard input', async () => {
    const project = await server.project();
    await withFile(jsonLines([ada]), async (path) => {
      const args = ['sync', path, '-', '--json', ...flagsOf(project)];
      const { code, stderr } = await runCli(args, { input: jsonLines([analysts]) });
      assert.equal(code, 0, stderr);
    });
    assert.deepEqual((await project.group('analysts')).members, ['ada']);
  });

  test('files may be gzip whatever their names, also in several parts', async () => {
    const project = await server.project();
    const content = Buffer.concat([gzipSync(jsonLines([ada])), gzipSync(jsonLines([analysts]))]);
    const { code, json } = await syncText(project, content);
    assert.equal(code, 0);
    assert.deepEqual([json.users, json.groups], [counts(1), counts(1)]);
  });

  test('sync of an empty file applies nothing, and the exit code is 0', async () => {
    const project = await server.project();
    const { code, json } = await syncText(project, '');
    assert.equal(code, 0);
    assert.deepEqual([json.users, json.groups, json.refused], [counts(0), counts(0), 0]);
  });

  test('a damaged file is sent up to the damage, and the exit code is 1', async () => {
    const project = await server.project();
    const many = Array.from({ length: 5_000 }, (_, index) => ({ type: 'user', id: `user ${index * index}` }));
    const { code, stdout, stderr } = await runCli(['sync', '-', '--json', ...flagsOf(project)], {
      input: gzipSync(jsonLines([ada, ...many])).subarray(0, -2_000),
    });
    assert.equal(code, 1);
    assert.match(stderr, /stopped: cannot read standard input: unexpected end of file \(after line \d+\)/);
    const after = Number(/after line (\d+)/.exec(stderr)?.[1]);
    const { complete, users } = JSON.parse(stdout.toString());
    assert.deepEqual([complete, users], [false, counts(after)]);
    assert.ok(after > 1);
  });

  test('a file that does not exist is exit code 1 before anything is sent', async () => {
    const project = await server.project();
    await withFile(jsonLines([ada]), async (path, directory) => {
      for (const missing of [`${path}.gz`, directory]) {
        const { code, stderr } = await runCli(['sync', path, missing, ...flagsOf(project)]);
        assert.equal(code, 1);
        assert.ok(stderr.includes(`cannot read ${missing}`), stderr);
      }
    });
    assert.deepEqual(await project.userIds(), []);
  });
});

describe('the order of lines', () => {
  test('lines about one ID apply in the order of the file, also when they go in different requests', async () => {
    const project = await server.project();
    const names = Array.from({ length: 40 }, (_, index) => `name ${index}`);
    const filler = (index: number) => ({
      type: 'group',
      id: `filler ${index}`,
      name: 'F',
      metadata: { text: 'x'.repeat(16_000) },
    });
    const lines = names.flatMap((name, index) => [
      { type: 'user', id: 'ada', name },
      { type: 'group', id: 'analysts', name, members: index % 2 === 0 ? ['ada'] : [] },
      ...Array.from({ length: 25 }, (_, at) => filler(index * 25 + at)),
    ]);
    const { code, json } = await syncText(project, jsonLines(lines), '--concurrency', '8');
    assert.equal(code, 0);
    assert.deepEqual([json.users, json.groups], [counts(1, 39), counts(1_001, 39)]);
    assert.equal((await project.user('ada')).name, 'name 39');
    const { name, members } = await project.group('analysts');
    assert.deepEqual([name, members], ['name 39', []]);
  });

  test('a group that names a user of a later line is rejected with user_not_found', async () => {
    const project = await server.project();
    const { rejections, json } = await syncText(project, jsonLines([analysts, ada]));
    assert.match(rejections.join('\n'), /^standard input:1: rejected: user_not_found: .*ada\)$/);
    assert.deepEqual([json.users, json.groups], [counts(1), counts(0)]);
  });
});

describe('the summary of rollcall sync', () => {
  test('the summary is a table of the counts, and standard error is empty when nothing failed', async () => {
    const project = await server.project();
    const { stdout, stderr } = await runCli(['sync', '-', '--quiet', ...flagsOf(project)], {
      input: jsonLines([ada, analysts, analysts]),
    });
    assert.equal(stderr, '');
    const [head, users, groups, threads, messages, last] = stdout.toString().trimEnd().split('\n');
    assert.equal(head, '          created    updated  unchanged');
    assert.equal(users, 'users           1          0          0');
    assert.equal(groups, 'groups          1          0          1');
    assert.equal(threads, 'threads         0          0          0');
    assert.equal(messages, 'messages        0          0          0');
    assert.match(last ?? '', /^0 rejected, [\d.]+ s$/);
  });
});
