/** Reads the parts of our Markdown pages that tests compare with the code: code blocks, tables, headings and links. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../../..');

/** The text of a page, named by its path from the root of the repository. */
export const readPage = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** A fenced block of code. */
export interface Fence {
  /** The first word after the backticks: `sh`, `json`, … */
  readonly language: string;
  readonly code: string;
  /** The line of the page on which its code begins, from 1. */
  readonly line: number;
  /** The text between this block and the one before it, or the top. */
  readonly before: string;
}

export function fencesOf(page: string): Fence[] {
  const text = readPage(page);
  const fences: Fence[] = [];
  let end = 0;
  for (const match of text.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms)) {
    const [whole, language = '', code = ''] = match;
    const line = text.slice(0, match.index).split('\n').length + 1;
    fences.push({ language, code, line, before: text.slice(end, match.index) });
    end = match.index + whole.length;
  }
  return fences;
}

/** The page without its code blocks and code spans: what is prose. */
export const proseOf = (page: string): string => proseIn(readPage(page));

const proseIn = (text: string): string => text.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]+`/g, '');

/** The cells of the table whose first head is this, row by row. */
export function tableOf(page: string, firstHead: string): string[][] {
  const [head] = headsOf(page, firstHead);
  if (head === undefined) throw new Error(`${page} has no table with the head ${firstHead}`);
  return rowsAfter(page, head);
}

/** The rows of all tables whose first head is this. */
export const tablesOf = (page: string, firstHead: string): string[][] =>
  headsOf(page, firstHead).flatMap((head) => rowsAfter(page, head));

/** The lines of the heads, from 0. */
function headsOf(page: string, firstHead: string): number[] {
  const lines = readPage(page).split('\n');
  return lines.flatMap((line, index) => (cellsOf(line)[0] === firstHead ? [index] : []));
}

function rowsAfter(page: string, head: number): string[][] {
  const rest = readPage(page)
    .split('\n')
    .slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end === -1 ? rest.length : end).map(cellsOf);
}

/** A row's cells without the space and the backticks around them; none of a line that is no row. */
function cellsOf(line: string): string[] {
  if (!line.startsWith('|')) return [];
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1'));
}

/** The anchors that GitHub gives to the page's headings; a repeated heading gets a number. */
export const anchorsOf = (page: string): string[] => anchorsIn(readPage(page));

export function anchorsIn(page: string): string[] {
  const seen = new Map<string, number>();
  const text = page.replace(/^```.*?^```$/gms, '');
  return [...text.matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = '']) => {
    const slug = slugOf(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

const slugOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** The targets of the page's links, `file#anchor`. */
export const linksOf = (page: string): string[] => linksIn(readPage(page));

export const linksIn = (text: string): string[] =>
  [...proseIn(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
