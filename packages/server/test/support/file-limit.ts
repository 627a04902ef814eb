/**
 * A module that each test file's process loads first: a file that does not end becomes a failure that names what it still has open.
 * The runner limits each test, but waits without end for a process that has finished its tests and does not exit.
 */
import process from 'node:process';

/** In milliseconds: above the limit of a test, so that a test that hangs is reported by its title. */
const FILE_MAX_MS = 10 * 60_000;

// Processes that a test file starts load the module too.
if (process.argv[1]?.endsWith('.test.ts')) {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    process.stderr.write(`${process.argv[1]} did not end within ${FILE_MAX_MS / 1_000} s; open: ${open}\n`);
    process.exit(1);
  }, FILE_MAX_MS).unref();
}
