/** The first page of docs/pages.md, in an empty folder with the packed packages. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { before, test } from 'node:test';
import { fencesOf } from '../../server/test/docs/markdown.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { freePort } from '../../server/test/support/own-program.ts';
import { installPackages } from '../../server/test/support/packed.ts';
import { UNMEASURED } from '../../server/test/support/programs.ts';
import { type TestServer, withServer } from '../../server/test/support/server.ts';
import { directoryOfFile } from '../../server/test/support/temporary-directory.ts';

const FILES = ['vite.config.mjs', 'index.html', 'main.jsx'];

const project = directoryOfFile('first-page');

before(async () => {
  const install = fencesOf('docs/pages.md').find(({ code }) =>
    code.includes('npm install @rollcall/client '),
  );
  const names = /npm install (.*)/.exec(install?.code ?? '')?.[1]?.split(' ') ?? [];
  const others = names.filter((name) => !name.startsWith('@rollcall/'));
  assert.deepEqual(others, ['react', 'react-dom', 'vite', '@vitejs/plugin-react']);
  await installPackages(project, ['client', 'react'], others);
});

/** Runs Vite with the files of the page, which name this server. */
async function withPage(server: TestServer, port: number, use: () => Promise<void>): Promise<void> {
  for (const file of FILES) {
    const fence = fencesOf('docs/pages.md').find(({ before }) => before.includes(`\n\`${file}\``));
    assert.ok(fence !== undefined, file);
    await writeFile(join(project, file), fence.code.replace('http://127.0.0.1:8080', server.url));
  }
  const env = {
    ...process.env,
    ...UNMEASURED,
    NODE_ENV: 'development',
    // Colours would divide the line with the address.
    NO_COLOR: '1',
    ROLLCALL_PROJECT_ID: server.projectId,
    ROLLCALL_PROJECT_SECRET: server.projectSecret,
  };
  const vite = join(project, 'node_modules/vite/bin/vite.js');
  const child = spawn(process.execPath, [vite, '--strictPort', '--port', `${port}`], { cwd: project, env });
  try {
    let printed = '';
    const ended = once(child, 'exit').then(() => assert.fail(`Vite ended: ${printed}`));
    ended.catch(() => {});
    while (!printed.includes('Local:')) {
      const [chunk] = await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), ended]);
      printed += chunk;
    }
    await use();
  } finally {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

test('the first page of docs/pages.md shows each of two users the face of the other until they close it', {
  skip: skipsPages,
}, async () => {
  const port = await freePort('localhost');
  const origin = `http://localhost:${port}`;
  await withServer({ settings: { corsOrigins: origin } }, (server) =>
    withPage(server, port, () =>
      visit(`${origin}/?user=ada`, {}, async ({ page: adas }) => {
        await visit(`${origin}/?user=bruno`, {}, async ({ page: brunos }) => {
          await adas.getByRole('img', { name: 'Bruno Sato' }).waitFor();
          await brunos.getByRole('img', { name: 'Ada Okafor' }).waitFor();
          assert.equal(await adas.getByRole('img').count(), 1);
        });
        await adas.getByRole('img', { name: 'Bruno Sato' }).waitFor({ state: 'detached' });
      }),
    ),
  );
});
