import type { Command } from 'commander';

/** Puts examples under a command's help, each with what it does. */
export function withExamples(
  command: Command,
  ...examples: readonly (readonly [line: string, what: string])[]
): Command {
  const lines = examples.map(([line, what]) => `  $ ${line}\n      ${what}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
