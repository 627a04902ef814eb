import process from 'node:process';
import { type Command, CommanderError } from 'commander';
import { SettingsError } from '../config/settings.ts';
import type { StopSignal } from '../stop-signals.ts';
import { CommandError } from './command-error.ts';
import { InterruptedError } from './interruption.ts';
import { noteLine } from './output.ts';
import { reasonOf } from './reason-of.ts';
import { visibleText } from './visible-text.ts';

/**
 * Runs a command line and gives its exit code: 0 done, 1 failed, 2 bad usage; or the signal that interrupted it. A failure is
 * one line on standard error.
 */
export async function runCommand(program: Command, args: readonly string[]): Promise<number | StopSignal> {
  throwInsteadOfExit(program);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    noteLine(`rollcall: ${reasonOf(error)}`);
    noteStack(error);
    if (error instanceof InterruptedError) return error.signal;
    if (error instanceof CommandError) return error.exitCode;
    return error instanceof SettingsError ? 2 : 1;
  }
}

/** The stack is for finding a defect: it is printed on request. */
function noteStack(error: unknown): void {
  if (process.env.ROLLCALL_LOG_LEVEL !== 'trace' || !(error instanceof Error)) return;
  for (const line of (error.stack ?? '').split('\n')) noteLine(line);
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride();
  command.configureOutput({
    outputError: (text, write) => write(text.trimEnd().split('\n').map(visibleText).join('\n').concat('\n')),
  });
  command.showHelpAfterError(`Run "${fullName(command)} --help" for its arguments and options.`);
  for (const inner of command.commands) throwInsteadOfExit(inner);
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/**
 * Call it at the start of a process: that `head` closes the pipe of `rollcall … | head` is no failure, and a full disk is one. A
 * message on standard error that cannot be written is dropped: the work and its exit code do not depend on it.
 */
export function handleOutputErrors(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    noteLine(`rollcall: the output cannot be written: ${reasonOf(error)}`);
    process.exit(1);
  });
}
