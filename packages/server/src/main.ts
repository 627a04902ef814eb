/** `rollcall serve` as a process of its own, without loading the other commands. */
import process from 'node:process';
import { Command } from 'commander';
import { serveCommand } from './cli/commands/serve.ts';
import { endQuietlyWithoutReader, runCommand } from './cli/run-command.ts';

endQuietlyWithoutReader();
const program = new Command('rollcall').addCommand(serveCommand());
process.exitCode = await runCommand(program, ['serve', ...process.argv.slice(2)]);
