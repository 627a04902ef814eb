/** Scripts with which shells complete the commands and options of `rollcall`. They need no process of it. */
import type { CommandRow } from './command-table.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, commands: readonly CommandRow[]): string {
  if (shell === 'fish') return fishScript(commands);
  return shell === 'zsh' ? `${ZSH_PRELUDE}\n${bashScript(commands)}` : bashScript(commands);
}

/** zsh runs completions of bash, once its own completion is on: without a configuration it is not. */
const ZSH_PRELUDE = `(( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit }
autoload -Uz bashcompinit && bashcompinit`;

/** The names of files, each as one word whatever is in it. */
const FILES = `local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur"))`;

/** The words before the cursor that are no options name the command; values of options are skipped. */
function bashScript(commands: readonly CommandRow[]): string {
  const words = commands.map(({ path, commands: inner, options }) => {
    const all = [...inner.map(({ name }) => name), ...options.map(({ long }) => long)];
    return `    ${quoted(path)}) words=${quoted(all.join(' '))} ;;`;
  });
  const takingValue = commands.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  const paths = commands.map(({ path }) => quoted(path)).join('|');
  return `_rollcall() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= words= word next index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    next=\${path:+$path }$word
    case $next in
      ${paths}) path=$next ;;
    esac
  done
  COMPREPLY=()
  case $prev in
    ${[...new Set(takingValue.map(({ long }) => long))].join('|')})
      ${FILES}
      return ;;
  esac
  case $path in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ $cur != -* && \${#COMPREPLY[@]} -eq 0 ]]; then ${FILES}; fi
}
complete -o filenames -F _rollcall rollcall
`;
}

function fishScript(commands: readonly CommandRow[]): string {
  const lines = commands.flatMap(({ path, commands: inner, options }) => {
    const names = path === '' ? [] : path.split(' ');
    const isHere = [
      ...names.map((name) => `__fish_seen_subcommand_from ${name}`),
      ...(inner.length === 0
        ? []
        : [`not __fish_seen_subcommand_from ${inner.map(({ name }) => name).join(' ')}`]),
    ].join('; and ');
    const when = `complete -c rollcall -n ${quoted(isHere === '' ? 'true' : isHere)}`;
    return [
      ...inner.map(({ name, description }) => `${when} -f -a ${name} -d ${quoted(description)}`),
      ...options.map(
        ({ long, takesValue, description }) =>
          `${when} -l ${long.slice(2)}${takesValue ? ' -r' : ''} -d ${quoted(description)}`,
      ),
    ];
  });
  return `${lines.join('\n')}\n`;
}

/** As one word of a POSIX shell; fish reads it too, as no text here has a backslash. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
