/**
 * Loads every source, so that Node's compile cache has whatever a server will load: at its start, for its threads, or
 * when its documentation is opened. Sources for threads throw when they are loaded here; they are compiled by then. Of the
 * command line it runs `--version` only.
 */
import { readdirSync } from 'node:fs';

const SOURCES = new URL('../src/', import.meta.url);

process.argv.splice(2, Infinity, '--version');
const sources = readdirSync(SOURCES, { recursive: true }).filter((file) => file.endsWith('.ts'));
await Promise.allSettled(sources.map((source) => import(new URL(source, SOURCES))));
process.exit(0);
