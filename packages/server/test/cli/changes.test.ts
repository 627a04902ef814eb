import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { expectDone } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { withDataDir, withServer } from '../support/server.ts';
import { CHECKOUT, type CliProcess, rollcall, rollcallOk, withCommand } from './cli-process.ts';

const server = oneServer();

const accessTo = ({ url, token }: Project) => ['--url', url, '--token', token];
const changesOf = (project: Project, ...args: string[]) =>
  rollcallOk(['changes', ...accessTo(project), ...args]);

async function seeded(): Promise<Project> {
  const project = await server.projectWithUsers('ada', 'bob "b"');
  const group = { name: 'G', members: ['ada', 'bob "b"'] };
  expectDone(await project.put('/v1/groups/docs', group, { 'x-request-id': 'r1' }));
  expectDone(await project.put('/v1/users/ada', { name: 'A', short_name: 'a' }, { 'x-request-id': 'r2' }));
  await readChanges(project, 5);
  return project;
}

/** Ends it as Ctrl-C does. */
async function interrupt(command: CliProcess): Promise<string> {
  command.signal('SIGINT');
  const { code, signal, stdout } = await command.ended;
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
  return stdout;
}

describe('rollcall changes', () => {
  test('rollcall changes prints a line for each change, and with --json the changes of GET /v1/changes', async () => {
    const project = await seeded();
    const all = await readChanges(project, 5);
    const lines = (await changesOf(project)).split('\n');
    const by = `by=project_token:${project.id}`;
    assert.deepEqual(
      lines.slice(2).map((line) => line.replace(/^\S{24} {2}/, '')),
      [
        `group.created  group=docs  ${by}  request=r1`,
        `member.added  group=docs  users="ada,bob \\"b\\""  ${by}  request=r1`,
        `user.updated  user=ada  fields=name,short_name  ${by}  request=r2`,
        '',
      ],
    );
    const printed = (await changesOf(project, '--json')).trimEnd().split('\n');
    assert.deepEqual(
      printed.map((line) => JSON.parse(line)),
      all,
    );
    assert.equal(await changesOf(project, '--after', 'latest'), '');
  });

  test('the filters of rollcall changes are those of GET /v1/changes', async () => {
    const project = await seeded();
    const all = await readChanges(project, 5);
    const filters = [
      ['--type', 'user.*,member.added'],
      ['--group', 'docs'],
      ['--user', 'bob "b"'],
      ['--actor', `project_token:${project.id}`],
      ['--request-id', 'r2'],
      ['--after', all[2]?.id as string],
    ] as const;
    for (const [flag, value] of filters) {
      const name = flag.slice(2).replace('-', '_');
      const printed = (await changesOf(project, '--json', flag, value)).trimEnd().split('\n');
      const { changes } = await changesPage(project, { [name]: value });
      assert.ok(changes.length > 0, flag);
      assert.deepEqual(
        printed.map((line) => JSON.parse(line)),
        changes,
      );
    }
  });

  test('rollcall changes with a wrong value is exit code 2, and with a position that is gone exit code 1', async () => {
    const project = await seeded();
    for (const [flag, value] of [
      ['--type', 'user.*,none'],
      ['--actor', 'someone'],
      ['--after', '1'],
      ['--user', ''],
    ] as const) {
      const { code, stdout, stderr } = await rollcall(['changes', ...accessTo(project), flag, value]);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, new RegExp(`'${flag} .*Expected`));
    }
    for (const more of [[], ['--follow']]) {
      const args = ['changes', ...accessTo(project), '--after', 'gone-1-0', ...more];
      const { code, stderr } = await rollcall(args);
      assert.equal(code, 1);
      assert.match(stderr, /^rollcall: the server answers 410 invalid_request: .*read everything anew/);
    }
  });

  test('changes by the command line have the actor command_line without an ID, and no request_id', async () => {
    const { dataDir, url, projectId, projectToken } = server.running;
    await server.running.request('PUT', '/v1/groups/g', { body: { name: 'G' } });
    const connect = ['group', 'connect', 'g', '--workspace', 'w', '--project', projectId];
    await rollcallOk([...connect, '--data-dir', dataDir], { program: CHECKOUT });
    const args = ['changes', '--url', url, '--token', projectToken, '--actor', 'command_line', '--json'];
    const { id: _id, at: _at, ...change } = JSON.parse(await rollcallOk(args));
    const actor = { kind: 'command_line', id: null };
    const fields = ['connectedToMessenger'];
    assert.deepEqual(change, { type: 'group.updated', actor, request_id: null, group: 'g', fields });
  });

  test('rollcall changes --follow goes on with new changes, and Ctrl-C ends it with exit code 0', async () => {
    const project = await seeded();
    const args = ['changes', ...accessTo(project), '--follow', '--type', 'group.*,user.removed'];
    await withCommand(args, async (command) => {
      await command.output(/group\.created/);
      expectDone(await project.put('/v1/groups/docs', { name: 'New' }));
      await command.output(/group\.updated/);
      expectDone(await project.delete('/v1/users/ada'));
      await command.output(/user\.removed/);
      const types = [...(await interrupt(command)).matchAll(/(?:user|group|member)\.\w+/g)];
      assert.deepEqual(types.flat(), ['group.created', 'group.updated', 'user.removed']);
    });
  });

  test('rollcall changes --follow goes on where it was when the server is away for a while', () =>
    withDataDir(async (dataDir) => {
      const { port } = await withServer({ dataDir }, async ({ url }) => new URL(url));
      const put = (id: string) =>
        withServer({ dataDir, settings: { port: Number(port) } }, async (running) => {
          const { status } = await running.request('PUT', `/v1/users/${id}`, { body: {} });
          assert.equal(status, 200);
          await seen(id);
        });
      let seen = async (_: string) => {};
      const url = `http://127.0.0.1:${port}`;
      const args = ['changes', '--url', url, '--follow', '--project', 'test-project'];
      await withCommand([...args, '--secret', 'test-project-secret'], async (command) => {
        seen = async (id) => void (await command.output(new RegExp(`user=${id} `)));
        await put('ada');
        await put('bob');
        const users = [...(await interrupt(command)).matchAll(/user=(\w+)/g)].map(([, id]) => id);
        assert.deepEqual(users, ['ada', 'bob']);
      });
    }));
});
