/** The command line of this process, which bin/rollcall.mjs runs. */
import process from 'node:process';
import { endBySignal } from '../stop-signals.ts';
import { buildCli } from './cli.ts';
import { handleOutputErrors, runCommand } from './run-command.ts';

handleOutputErrors();
const ended = await runCommand(buildCli(), process.argv.slice(2));
// Not by an exit code: input that a command still waits for would delay the end.
if (typeof ended === 'string') endBySignal(ended);
else if (ended !== 0) process.exitCode = ended;
