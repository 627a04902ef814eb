/** The first page of docs/pages.md, in an empty folder with the packed packages. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { fencesOf } from '../../server/test/docs/markdown.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { freePort } from '../../server/test/support/own-program.ts';
import { installPackages } from '../../server/test/support/packed.ts';
import { UNMEASURED } from '../../server/test/support/programs.ts';
import { type TestServer, withServer } from '../../server/test/support/server.ts';
import { directoryOfFile } from '../../server/test/support/temporary-directory.ts';

const FILES = ['vite.config.mjs', 'index.html', 'main.jsx', 'editable.jsx'];

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

function codeOf(file: string): string {
  const fence = fencesOf('docs/pages.md').find(({ before }) => before.includes(`\`${file}\``));
  return fence?.code ?? assert.fail(file);
}

/** Runs Vite with the files of the page, which name this server. `article` is what the page shows, where that is not its faces. */
async function withPage(
  server: TestServer,
  port: number,
  article: string | null,
  use: () => Promise<void>,
): Promise<void> {
  for (const file of FILES) {
    const code = codeOf(file).replace('http://127.0.0.1:8080', server.url);
    const isOther = article !== null && file === 'main.jsx';
    const shown = `import { Editable } from './editable.jsx';\n${code.replace(/<Facepile .*\/>/, article ?? '')}`;
    await writeFile(join(project, file), isOther ? shown : code);
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
    withPage(server, port, null, () =>
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

/** Opens pages whose sockets receive nothing while `hold` runs. */
async function withHeldPages(
  addresses: readonly string[],
  use: (pages: readonly Page[], hold: (during: () => Promise<void>) => Promise<void>) => Promise<void>,
  opened: readonly Page[] = [],
  gate = { isOpen: Promise.resolve() },
): Promise<void> {
  const [address, ...others] = addresses;
  const hold = async (during: () => Promise<void>) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.isOpen = promise;
    await during();
    resolve();
  };
  if (address === undefined) return use(opened, hold);
  await visit('about:blank', {}, async ({ page }) => {
    await page.routeWebSocket('**/v1/client/socket', (socket) => {
      socket.connectToServer().onMessage(async (frame) => {
        await gate.isOpen;
        socket.send(frame);
      });
    });
    await page.goto(address);
    await page.getByRole('button').waitFor();
    await withHeldPages(others, use, [...opened, page], gate);
  });
}

test('with Editable of docs/pages.md one of two users who begin at once edits a text, and the other one after the first', {
  skip: skipsPages,
}, async () => {
  const port = await freePort('localhost');
  const origin = `http://localhost:${port}`;
  const article = `<Editable id="p1" text="Hello" onSave={() => {}} />`;
  const addresses = ['ada', 'bruno'].map((user) => `${origin}/?user=${user}`);
  await withServer({ settings: { corsOrigins: origin } }, (server) =>
    withPage(server, port, article, () =>
      withHeldPages(addresses, async ([adas, brunos], hold) => {
        assert.ok(adas && brunos);
        await hold(async () => {
          for (const page of [adas, brunos]) await page.getByRole('button').click();
        });
        // Ada has begun some milliseconds earlier.
        await brunos.getByText('(Ada Okafor edits)').waitFor();
        await adas.getByRole('textbox').waitFor();
        assert.equal(await brunos.getByRole('textbox').count(), 0);
        await adas.getByRole('textbox').blur();
        await brunos.getByRole('textbox').waitFor();
        await adas.getByText('(Bruno Sato edits)').waitFor();
        await brunos.close();
        await adas.getByRole('button').click();
        await adas.getByRole('textbox').waitFor();
      }),
    ),
  );
});
