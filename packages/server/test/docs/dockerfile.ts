/** The instructions of deploy/Dockerfile. */
import { readPage } from './markdown.ts';

export const dockerfile = readPage('deploy/Dockerfile');

export interface Instruction {
  /** `RUN`, `COPY`, … */
  readonly name: string;
  readonly args: string;
}

/** The instructions of each stage, without its `FROM`; a line that goes on is one line. */
export const stages: readonly (readonly Instruction[])[] = dockerfile
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split(/^FROM .*\n/m)
  .slice(1)
  .map((stage) =>
    [...stage.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name = '', args = '']) => ({ name, args })),
  );

/** The arguments of an instruction, each time that the last stage has it. */
export const instruction = (name: string): string[] =>
  (stages.at(-1) ?? []).filter((each) => each.name === name).map(({ args }) => args);

/** The command of an instruction that has it as a JSON list, such as `CMD`, after further options. */
export function commandOf(name: string): string[] {
  const [args = ''] = instruction(name);
  return JSON.parse(args.slice(args.indexOf('['))) as string[];
}

/** The variables that the image sets. */
export function imageEnvironment(): Record<string, string> {
  const pairs = instruction('ENV').flatMap((text) => text.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}
