#!/usr/bin/env node
/**
 * The launcher, in plain JavaScript that old versions of Node can read too. In a checkout it runs the sources; an installed
 * package has no sources, and runs what was built from them.
 */
import { existsSync } from 'node:fs';
import process from 'node:process';

const NODE_MIN_MAJOR = 24;
const checkout = new URL('./checkout.mjs', import.meta.url);

if (existsSync(checkout)) {
  await import(checkout);
} else if (Number.parseInt(process.versions.node, 10) >= NODE_MIN_MAJOR) {
  await import('../dist/cli/main.js');
} else {
  const needed = `Node ${NODE_MIN_MAJOR} or later is needed, and this is ${process.version}`;
  process.stderr.write(`rollcall: ${needed}: see https://nodejs.org/en/download\n`);
  process.exitCode = 2;
}
