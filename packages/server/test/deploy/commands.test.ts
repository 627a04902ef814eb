/** Runs the commands of docs/deploying.md that need no cluster and no Docker, as they are written there. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { ROOT } from '../docs/markdown.ts';
import { shellBlocks } from '../docs/shell-blocks.ts';
import { withDataDir } from '../support/server.ts';
import { programs, skipsKubernetes } from './kubernetes-tools.ts';

const PAGE = 'docs/deploying.md';

for (const [heading, result] of [
  ['## Kubernetes with kustomize', /kind: Deployment[\s\S]*kind: ServiceMonitor/],
  ['## Kubernetes with Helm', /secretName: "rollcall-secrets"[\s\S]*host: "rollcall\.example\.com"/],
] as const) {
  test(`docs/deploying.md: the commands of "${heading}" run as written`, { skip: skipsKubernetes }, () =>
    withDataDir(async (directory) => {
      mkdirSync(directory, { recursive: true });
      cpSync(join(ROOT, 'deploy'), join(directory, 'deploy'), { recursive: true });
      const tools = Object.values(programs).flatMap((path) => (path === undefined ? [] : [dirname(path)]));
      const env = { ...process.env, PATH: [...tools, process.env.PATH].join(':') };
      const script = shellBlocks(PAGE, heading).join('\n');
      const output = execFileSync('sh', ['-euc', script], {
        cwd: directory,
        env,
        encoding: 'utf8',
        stdio: 'pipe',
      });
      assert.match(output, result);
    }),
  );
}
