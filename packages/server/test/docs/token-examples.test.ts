import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import { isRequired } from '../support/programs.ts';
import { fencesOf, ROOT } from './markdown.ts';

/** Debian's PyJWT is for Debian's Python, and another can be before it in the PATH. */
const pythonWithJwt = ['python3', '/usr/bin/python3'].find(
  (program) => spawnSync(program, ['-c', 'import jwt; jwt.encode']).status === 0,
);

/** The command that runs an example, and its standard input. */
const RUNNERS = {
  js: {
    command: [process.execPath, '--input-type=module'],
    program: (code: string) =>
      `${code}\nconsole.log(await projectToken(process.env.ID, process.env.SECRET));`,
  },
  py: {
    command: [pythonWithJwt ?? 'python3', '-'],
    program: (code: string) =>
      `${code}\nimport os\nprint(project_token(os.environ["ID"], os.environ["SECRET"]))`,
  },
} as const;

/** Where the libraries of the server can be imported. */
const cwd = join(ROOT, 'packages/server');

function run([program, ...args]: readonly string[], input: string, env: Record<string, string> = {}) {
  return spawnSync(program as string, args, {
    input,
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
}

const noPyJwt = pythonWithJwt === undefined && !isRequired('pyjwt') && 'there is no Python with PyJWT';
const server = oneServer();
const examples = fencesOf('docs/api.md').filter(({ language }) => language === 'js' || language === 'py');

describe('the tokens that docs/api.md signs', () => {
  test('the tokens that docs/api.md signs are signed in Node without and with a library, and in Python', () => {
    assert.deepEqual(
      examples.map(({ language }) => language),
      ['js', 'js', 'py'],
    );
  });

  for (const { language, code, line } of examples) {
    const skip = language === 'py' && noPyJwt;
    test(`docs/api.md:${line} opens the project's data`, { skip }, async () => {
      const project = await server.project();
      const { command, program } = RUNNERS[language as keyof typeof RUNNERS];
      const signed = run(command, program(code), { ID: project.id, SECRET: project.secret });
      assert.equal(signed.status, 0, signed.stderr);
      const headers = { authorization: `Bearer ${signed.stdout.trim()}` };
      const answer = await fetch(`${server.running.url}/v1/groups`, { headers });
      assert.equal(answer.status, 200, await answer.text());
    });
  }
});
