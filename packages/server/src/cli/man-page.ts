/** The manual page of the command line, in the macros of man(7). */
import type { CommandRow } from './command-table.ts';

interface Edition {
  readonly version: string;
  /** The day of the edition, such as 2026-01-15. */
  readonly date: string;
}

export function manPage(commands: readonly CommandRow[], { version, date }: Edition): string {
  const [program, ...rest] = commands as [CommandRow, ...CommandRow[]];
  return [
    `.TH ROLLCALL 1 ${date} ${quoted(`Rollcall ${version}`)}`,
    // No hyphenation: names of variables stay whole.
    '.nh',
    '.SH NAME',
    `rollcall \\- ${escaped(lowerFirst(program.description.replace(/\.$/, '')))}`,
    '.SH SYNOPSIS',
    `.B ${escaped(program.usage)}`,
    '.SH DESCRIPTION',
    'Runs a Rollcall server, and works with its store and its API. Every setting of the server is an option of',
    '.B rollcall serve',
    'and an environment variable; the option wins.',
    '.SH COMMANDS',
    ...rest.filter(({ commands: inner }) => inner.length === 0).flatMap(commandLines),
    '.SH EXIT STATUS',
    ...item('0', 'Done.'),
    ...item('1', 'Failed; one line on standard error has the cause.'),
    ...item('2', 'Bad usage: an unknown option, or an invalid value.'),
    ...item('129, 130, 143', 'SIGHUP (a closed terminal), Ctrl-C or SIGTERM ended it.'),
    '',
  ].join('\n');
}

const commandLines = ({ usage, description, options }: CommandRow): string[] => [
  `.SS ${quoted(usage)}`,
  escaped(description),
  ...options.flatMap(({ flags, description: text }) => item(flags, text)),
];

/** A name in bold, and its text below. */
const item = (name: string, text: string): string[] => ['.TP', `.B ${escaped(name)}`, escaped(text)];

/** Hyphens are those of options, and no line is read as a request. */
const escaped = (text: string) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replace(/^(?=[.'])/, '\\&');

const quoted = (text: string) => `"${escaped(text).replaceAll('"', '""')}"`;

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
