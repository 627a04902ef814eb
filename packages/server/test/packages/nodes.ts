/** The versions of Node on which the packages are tested. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { ROOT } from '../docs/markdown.ts';
import { findNode, isRequired } from '../support/programs.ts';

const FOLDER = 'packages/server/test/packages/node-24';
const NODE_24 = join(ROOT, FOLDER, `node_modules/node-${process.platform}-${process.arch}/bin/node`);

/** The Nodes that run a server, and why a test on one of them is skipped. Where Node 24 is required, its absence fails them. */
export const NODES = [
  { version: process.version, node: process.execPath, skip: false as const },
  {
    version: 'v24',
    node: NODE_24,
    skip: !existsSync(NODE_24) && !isRequired('node-24') && `"npm ci --prefix ${FOLDER}" installs Node 24`,
  },
];

const NODE_20 = findNode(/^v20\./);

/** The oldest Node for the packages of clients, which is too old for a server. */
export const OLD_NODE = {
  version: 'v20',
  node: NODE_20 ?? '',
  skip: NODE_20 === undefined && !isRequired('node-20') && 'there is no Node 20 in the PATH',
};
