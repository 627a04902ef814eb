import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { compareCodePoints } from '@rollcall/protocol';
import { expectDone } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { fencesOf } from './markdown.ts';

const PAGE = 'docs/keeping-a-copy.md';
const server = oneServer();

type Entries = readonly (readonly [id: string, value: { readonly id: string }])[];

interface Copy {
  readonly next: string;
  readonly users: Entries;
  readonly groups: Entries;
}

const inOrder = (entries: Entries) =>
  entries.map(([, value]) => value).toSorted((one, other) => compareCodePoints(one.id, other.id));

/** The program of the page, and whether its copy has what the API reads. */
class CopyProgram {
  readonly #child: ChildProcessByStdio<null, null, Readable>;
  readonly #file: string;
  readonly #project: Project;
  #stderr = '';
  #compared = '';

  constructor(directory: string, project: Project) {
    const env = { PATH: process.env.PATH, ROLLCALL_URL: project.url, ROLLCALL_TOKEN: project.token };
    const stdio = ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'];
    this.#child = spawn(process.execPath, ['copy.mjs'], { cwd: directory, env, stdio });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.#file = join(directory, 'copy.json');
    this.#project = project;
  }

  /** Compares each copy once: nothing else changes while a test waits. */
  async isInSync(): Promise<boolean> {
    assert.equal(this.#child.exitCode, null, this.#stderr);
    const text = await readFile(this.#file, 'utf8');
    if (text === this.#compared) return false;
    const copy: Copy = JSON.parse(text);
    const groups = await Promise.all((await this.#project.groupIds()).map((id) => this.#project.group(id)));
    const users = await this.#project.users();
    this.#compared = text;
    assert.deepEqual(inOrder(copy.users), users);
    assert.deepEqual(inOrder(copy.groups), groups);
    return true;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'close');
  }
}

async function changeEverything(project: Project): Promise<void> {
  await project.seed({
    users: Array.from({ length: 250 }, (_, index) => ({ id: `user ${index}`, name: 'V' })),
  });
  expectDone(await project.delete('/v1/users/user%202'));
  expectDone(await project.put('/v1/users/user%201', { status: 'deleted' }));
  expectDone(await project.delete('/v1/groups/gone'));
  expectDone(await project.put('/v1/groups/__proto__', { name: 'N', members: ['user 9'] }));
  expectDone(await project.post('/v1/groups/a%2Fb/members', { add: ['user 7'] }));
}

test('docs/keeping-a-copy.md: the example has at most 40 lines, follows changes of every kind, resumes after a restart, and reads everything anew after 410', () =>
  withDataDir(async (directory) => {
    const project = await server.project();
    await project.seed({
      users: Array.from({ length: 1_100 }, (_, index) => ({ id: `user ${index}`, name: 'U' })),
      groups: [
        { id: 'a/b', name: 'G', members: ['user 1', 'user 2'] },
        { id: 'gone', name: 'G' },
      ],
    });
    const [program] = fencesOf(PAGE).filter(({ language }) => language === 'js');
    const code = program?.code ?? assert.fail('there is an example');
    assert.ok(code.trimEnd().split('\n').length <= 40);
    await writeFile(join(directory, 'copy.mjs'), code);
    const file = join(directory, 'copy.json');
    let copy = new CopyProgram(directory, project);
    try {
      await until('the first copy', () => copy.isInSync());
      await changeEverything(project);
      await until('the copy after the changes', () => copy.isInSync());

      await copy.kill();
      expectDone(await project.delete('/v1/users/user%203'));
      const { next } = JSON.parse(await readFile(file, 'utf8'));
      copy = new CopyProgram(directory, project);
      await until('the copy after a restart', () => copy.isInSync());
      assert.notEqual(JSON.parse(await readFile(file, 'utf8')).next, next);

      const ghost = { next: 'gone-1-0', users: [['ghost', { id: 'ghost' }]], groups: [] };
      await copy.kill();
      await writeFile(file, JSON.stringify(ghost));
      copy = new CopyProgram(directory, project);
      await until('the copy that was read anew', () => copy.isInSync());
    } finally {
      await copy.kill();
    }
  }));
