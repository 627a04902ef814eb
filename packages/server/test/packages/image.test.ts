/** Runs the steps of deploy/Dockerfile that install the program, in an empty folder and with the real npm, and then its command. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync } from 'node:fs';
import { dirname, join, matchesGlob, relative, resolve } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { CliProcess, KNOWN } from '../cli/cli-process.ts';
import { commandOf, stages } from '../docs/dockerfile.ts';
import { ROOT, readPage } from '../docs/markdown.ts';
import { send } from '../support/http-client.ts';
import { packPackages } from '../support/packed.ts';
import { UNMEASURED } from '../support/programs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const IGNORED = readPage('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ pattern: line.replace(/^!/, ''), isPassed: line.startsWith('!') }));

/** Whether Docker sends a file to the build: the last pattern that matches the path, or a folder above it, counts. */
function isPassed(path: string): boolean {
  const paths = path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
  const last = IGNORED.findLast(({ pattern }) => paths.some((each) => matchesGlob(each, pattern)));
  return last?.isPassed ?? true;
}

/** The files of a source of `COPY` that are sent to the build. */
const filesOf = (source: string): string[] =>
  globSync([source, `${source}/**`], { cwd: ROOT, withFileTypes: true, exclude: ['**/node_modules'] })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter(isPassed);

/** As `COPY`: files into a folder, a folder under its own name, or one file under another name. */
function copy(args: string, workDirectory: string, placed: (path: string) => string): void {
  const words = args.split(' ');
  const target = words.pop() as string;
  for (const source of words) {
    const files = filesOf(source);
    assert.ok(files.length > 0, `${source} is not sent to the build`);
    for (const file of files) {
      const name = target === './' || target === source ? file : target;
      cpSync(join(ROOT, file), placed(resolve(workDirectory, name)));
    }
  }
}

/** Runs the steps of the first stage, with its absolute paths below `root`. */
function install(root: string): void {
  const placed = (text: string) => text.replaceAll(/(^|\s)(\/(?:opt|tmp)\/)/g, `$1${root}$2`);
  let workDirectory = '/';
  for (const { name, args } of stages[0] ?? []) {
    if (name === 'WORKDIR') workDirectory = args;
    else if (name === 'COPY') copy(args, workDirectory, placed);
    else {
      assert.equal(name, 'RUN');
      mkdirSync(placed(workDirectory), { recursive: true });
      const env = { ...process.env, ...UNMEASURED, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
      execFileSync('sh', ['-c', placed(args)], { cwd: placed(workDirectory), env, stdio: 'pipe' });
    }
  }
}

test('deploy/Dockerfile installs the packed server with locked dependencies, and its command serves until SIGTERM', async () => {
  await packPackages();
  await using directory = await temporaryDirectory('image');
  const root = directory.path;
  install(root);
  const server = join(root, 'opt/rollcall/packages/server');
  assert.deepEqual(globSync('**/{src,test,checkout.mjs}', { cwd: server, exclude: ['node_modules'] }), []);
  const [command, script = '', ...args] = commandOf('CMD');
  assert.equal(command, 'node');
  const program = { node: process.execPath, launcher: join(root, script) };
  const running = new CliProcess([...args, '--port', '0', '--data-dir', join(root, 'data'), ...KNOWN], {
    program,
    env: UNMEASURED,
  });
  try {
    const [, url = ''] = await running.output(/"url":"([^"]+)".*"msg":"listening"/);
    assert.equal((await send(url, 'GET', '/readyz')).status, 200);
    running.signal('SIGTERM');
    assert.equal((await running.ended).code, 0);
  } finally {
    running.signal('SIGKILL');
  }
});
