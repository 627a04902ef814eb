import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { compareCodePoints } from '@rollcall/protocol';
import { expectDone } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { fencesOf } from './markdown.ts';

const PAGE = 'docs/keeping-a-copy.md';
const server = oneServer();

interface Copy {
  readonly users: readonly { readonly id: string }[];
  readonly groups: readonly { readonly id: string }[];
}

const inOrder = <Entry extends { readonly id: string }>(entries: readonly Entry[]) =>
  entries.toSorted((one, other) => compareCodePoints(one.id, other.id));

test('docs/keeping-a-copy.md: the example has what the API reads, also after changes of every kind', () =>
  withDataDir(undefined, async (directory) => {
    const project = await server.project();
    await project.seed({
      users: Array.from({ length: 150 }, (_, index) => ({ id: `user ${index}`, name: 'U' })),
      groups: [
        { id: 'a/b', name: 'G', members: ['user 1', 'user 2'] },
        { id: 'gone', name: 'G' },
      ],
    });
    const [program] = fencesOf(PAGE).filter(({ language }) => language === 'js');
    await writeFile(join(directory, 'copy.mjs'), program?.code ?? assert.fail('there is an example'));
    const env = { PATH: process.env.PATH, ROLLCALL_URL: project.url, ROLLCALL_TOKEN: project.token };
    const child = spawn(process.execPath, ['copy.mjs'], { cwd: directory, env });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });

    const isInSync = async () => {
      assert.equal(child.exitCode, null, stderr);
      const copy: Copy = JSON.parse(await readFile(join(directory, 'copy.json'), 'utf8'));
      const groups = await Promise.all((await project.groupIds()).map((id) => project.group(id)));
      assert.deepEqual(inOrder(copy.users), await project.users());
      assert.deepEqual(inOrder(copy.groups), groups);
      return true;
    };
    await until('the first copy', isInSync);
    await project.seed({
      users: Array.from({ length: 250 }, (_, index) => ({ id: `user ${index}`, name: 'V' })),
    });
    expectDone(await project.delete('/v1/users/user%202'));
    expectDone(await project.put('/v1/users/user%201', { status: 'deleted' }));
    expectDone(await project.delete('/v1/groups/gone'));
    expectDone(await project.put('/v1/groups/new', { name: 'N', members: ['user 9'] }));
    expectDone(await project.post('/v1/groups/a%2Fb/members', { add: ['user 7'] }));
    await until('the copy after the changes', isInSync);
    child.kill();
    await once(child, 'close');
  }));
