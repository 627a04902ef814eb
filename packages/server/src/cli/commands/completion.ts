import process from 'node:process';
import { Argument } from 'commander';
import { commandTable } from '../command-table.ts';
import { completionScript, SHELLS, type Shell } from '../completion.ts';
import { RollcallCommand } from '../rollcall-command.ts';

/** `rollcall completion SHELL`: what a shell completes, of all commands of the program that it is in. */
export function completionCommand(): RollcallCommand {
  const command = new RollcallCommand('completion');
  return command
    .description('Print a script with which a shell completes commands and options.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell) => {
      process.stdout.write(completionScript(shell, commandTable(command.parent ?? command)));
    })
    .examples(
      ['source <(rollcall completion bash)', 'for this shell; in ~/.bashrc for all, and so for zsh'],
      ['rollcall completion fish > ~/.config/fish/completions/rollcall.fish', 'for fish'],
    );
}
