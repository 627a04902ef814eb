/**
 * A module that each test file's process loads first. A file that does not end after its tests becomes a failure that names what it has
 * open: the runner limits each test, but waits without end for a process that does not exit.
 */
import process from 'node:process';
import { after } from 'node:test';

/** How long a process may take to exit after its tests, in milliseconds. */
const EXIT_MAX_MS = 60_000;

// Processes that a test file starts load the module too.
if (process.argv[1]?.endsWith('.test.ts')) {
  after(() => {
    setTimeout(() => {
      const open = process.getActiveResourcesInfo().join(', ');
      process.stderr.write(
        `${process.argv[1]} did not exit within ${EXIT_MAX_MS / 1_000} s; open: ${open}\n`,
      );
      process.exit(1);
    }, EXIT_MAX_MS).unref();
  });
}
