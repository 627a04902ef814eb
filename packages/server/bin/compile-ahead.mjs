/** Loads what a server loads, so that Node's compile cache has it; of the command line it runs `--version` only. */
process.argv.splice(2, Infinity, '--version');
const sources = [
  'cli/main.ts',
  'serve.ts',
  'store/sqlite/sqlite-store.ts',
  'store/sqlite/sqlite-group-commit.ts',
  'store/sqlite/sqlite-writer-thread.ts',
];
// The last of them is for a thread and says so; by then it is compiled.
await Promise.allSettled(sources.map((source) => import(new URL(`../src/${source}`, import.meta.url))));
process.exitCode = 0;
