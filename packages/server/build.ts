/** Builds the published `dist`: the server, its command line and threads, the files that they read, and the manual page. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackage } from '../build-package.ts';
import manifest from './package.json' with { type: 'json' };
import { buildCli } from './src/cli/cli.ts';
import { commandTable } from './src/cli/command-table.ts';
import { manPage } from './src/cli/man-page.ts';

buildPackage(import.meta.dirname);
const edition = { version: manifest.version, date: new Date().toISOString().slice(0, 10) };
writeFileSync(join(import.meta.dirname, 'dist/rollcall.1'), manPage(commandTable(buildCli()), edition));
