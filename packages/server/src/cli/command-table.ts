import type { Command } from 'commander';

/** An option of a command, as help, completions and the manual show it. */
interface OptionRow {
  /** `--output <file>`, with a short form before it where there is one. */
  readonly flags: string;
  readonly long: string;
  readonly takesValue: boolean;
  readonly description: string;
}

/** A command with all that its help names. */
export interface CommandRow {
  /** Without the program: `project create`; empty for the program itself. */
  readonly path: string;
  readonly usage: string;
  readonly description: string;
  readonly options: readonly OptionRow[];
  /** Names of the commands in it, with what they do. */
  readonly commands: readonly { readonly name: string; readonly description: string }[];
}

/** The command and all commands in it, each after the one that it is in. */
export function commandTable(command: Command, path: readonly string[] = []): CommandRow[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((inner) => inner.name() !== 'help');
  const row: CommandRow = {
    path: path.join(' '),
    usage: help.commandUsage(command),
    description: command.description(),
    options: help.visibleOptions(command).flatMap((option) => optionRow(option)),
    commands: commands.map((inner) => ({ name: inner.name(), description: inner.description() })),
  };
  return [row, ...commands.flatMap((inner) => commandTable(inner, [...path, inner.name()]))];
}

function optionRow(option: Command['options'][number]): OptionRow[] {
  const { flags, long, required, optional, description } = option;
  if (long == null) return [];
  return [{ flags, long, takesValue: required || optional, description }];
}
