import assert from 'node:assert/strict';
import { readPage } from './markdown.ts';

/** The shell code of one section of a page, block by block. The heading is given as in the page: `## Upgrade`. */
export function shellBlocks(page: string, heading: string): string[] {
  const text = readPage(page);
  const start = text.indexOf(`\n${heading}\n`);
  assert.ok(start !== -1, `${page} has no ${heading}`);
  const section = text.slice(start + heading.length + 1);
  const level = heading.indexOf(' ');
  const end = section.search(new RegExp(`^#{2,${level}} `, 'm'));
  const own = end === -1 ? section : section.slice(0, end);
  return [...own.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = '']) => code);
}
