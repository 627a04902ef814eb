/** The programs of backends on which the packed client is tested. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { ROOT } from '../../../server/test/docs/markdown.ts';
import { NODES, OLD_NODE } from '../../../server/test/packages/nodes.ts';
import { isRequired } from '../../../server/test/support/programs.ts';

const FOLDER = 'packages/client/test/bun';
/** Bun's packages have the name of the processor that `uname -m` prints. */
const PROCESSOR = process.arch === 'arm64' ? 'aarch64' : process.arch;
const PROGRAM = join(ROOT, FOLDER, `node_modules/@oven/bun-${process.platform}-${PROCESSOR}/bin/bun`);

/** Bun, and why tests on it are skipped. Where it is required, its absence fails them. */
export const BUN = {
  name: 'Bun',
  program: PROGRAM,
  hasWebSocket: true,
  skip: !existsSync(PROGRAM) && !isRequired('bun') && `"npm ci --prefix ${FOLDER}" installs Bun`,
};

export const RUNTIMES = [
  ...NODES.map(({ version, node, skip }) => ({
    ...{ name: `Node ${version}`, program: node, hasWebSocket: true, skip },
  })),
  { name: `Node ${OLD_NODE.version}`, program: OLD_NODE.node, hasWebSocket: false, skip: OLD_NODE.skip },
  BUN,
];
