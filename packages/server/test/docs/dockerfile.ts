/** The instructions of deploy/Dockerfile. */
import { readPage } from './markdown.ts';

export const dockerfile = readPage('deploy/Dockerfile');

/** The arguments of an instruction, each time that the last stage has it. */
export function instruction(name: string): string[] {
  const stage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  return [...stage.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, text = '']) => text);
}

/** The variables that the image sets. */
export function imageEnvironment(): Record<string, string> {
  const pairs = instruction('ENV').flatMap((text) => text.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}
