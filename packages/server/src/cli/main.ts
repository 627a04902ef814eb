/** The command line of this process, which bin/rollcall.mjs runs. */
import process from 'node:process';
import { buildCli } from './cli.ts';
import { endQuietlyWithoutReader, runCommand } from './run-command.ts';

endQuietlyWithoutReader();
const code = await runCommand(buildCli(), process.argv.slice(2));
if (code !== 0) process.exitCode = code;
