/** The Markdown pages of a published package: its README and the pages of `docs` to which that links. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** Code blocks, links, and code within a line, whichever begins first. */
const PARTS = /^```.*?^```$|\[(?<text>(?:[^[\]]|\[[^\]]*\])*)\]\((?<target>[^()\s]+)\)|`[^`\n]+`/gms;
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|#)/i;

/**
 * The text of each page by its path in the package. A link leads to another page of the package; where it led to a file that
 * the package does not have, its text is left.
 */
export function packedPages(name: string): ReadonlyMap<string, string> {
  const readme = `packages/${name}/README.md`;
  const linked = linksOf(readme).filter((path) => /^docs\/[^/]+\.md$/.test(path));
  const packed = new Map([[readme, 'README.md'], ...linked.map((path) => [path, path] as const)]);
  return new Map(Array.from(packed, ([source, path]) => [path, pageIn(packed, source, path)]));
}

/** The files that a page links to, by their paths in the repository. */
const linksOf = (page: string): string[] =>
  [...readPage(page).matchAll(PARTS)].flatMap(({ groups: { target } = {} }) =>
    target === undefined || ELSEWHERE.test(target) ? [] : [fileOf(page, target)],
  );

function pageIn(packed: ReadonlyMap<string, string>, source: string, path: string): string {
  return readPage(source).replace(PARTS, (part, text?: string, target?: string) => {
    if (text === undefined || target === undefined || ELSEWHERE.test(target)) return part;
    const file = packed.get(fileOf(source, target));
    if (file === undefined) return text;
    const [, anchor = ''] = target.split(/(?=#)/);
    return `[${text}](${relative(dirname(path), file)}${anchor})`;
  });
}

const fileOf = (page: string, target: string) => join(dirname(page), target.replace(/#.*/s, ''));

const readPage = (page: string) => readFileSync(join(ROOT, page), 'utf8');
