/** The examples of a page, and bash to run them as a reader would: pasted one after the other. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { type Fence, fencesOf, ROOT } from './markdown.ts';

const LAUNCHER = join(ROOT, 'packages/server/bin/rollcall.mjs');
/** The server's address in the pages, to be replaced by the real one. */
const ADDRESS = '127.0.0.1:8080';
/** A block is an example if it sends a request, or sets variables for a request. */
const EXAMPLE = /\bcurl\b|=\$\(npx /;
const SCRIPT_LIMIT_MS = 180_000;

export interface Example {
  /** File and line, as editors take them. */
  readonly source: string;
  readonly code: string;
  /** The block right after it, which shows the answer; null without one. */
  readonly shown: Fence | null;
  /** The text of the page after it, up to the next block. */
  readonly after: string;
}

/** The examples of a page in order. @throws when an answer is shown that belongs to no example */
export function examplesOf(page: string): Example[] {
  const fences = fencesOf(page);
  const examples = fences.flatMap((fence, index): Example[] => {
    if (fence.language !== 'sh' || !EXAMPLE.test(fence.code)) return [];
    const next = fences[index + 1];
    const shown = next !== undefined && isAnswer(next) && next.before.trim() === '' ? next : null;
    const after = (shown === null ? next : fences[index + 2])?.before ?? '';
    return [{ source: `${page}:${fence.line}`, code: fence.code, shown, after }];
  });
  const checked = new Set(examples.map(({ shown }) => shown));
  for (const fence of fences.filter(isAnswer)) {
    assert.ok(checked.has(fence), `${page}:${fence.line} shows an answer that no example before it gives`);
  }
  return examples;
}

const isAnswer = ({ language }: Fence) => language === 'json' || language === 'http';

/**
 * Runs blocks of shell code in one bash, so that variables last, and gives what each wrote to standard output. `npx`
 * finds what it finds in the repository; the working directory is the one given. Fails on the first that fails.
 */
export async function runInBash(
  blocks: readonly string[],
  { url, directory }: { readonly url: string; readonly directory: string },
): Promise<string[]> {
  const outputs = join(directory, 'outputs');
  await mkdir(outputs, { recursive: true });
  const script = [
    'set -euo pipefail',
    'npx() { local program=$1; shift; case $program in rollcall) "$NODE" "$LAUNCHER" "$@";; node) "$NODE" "$@";; *) return 127;; esac; }',
    ...blocks.map(
      (code, index) =>
        `echo "block ${index}" >&2\n{ ${code.replaceAll(ADDRESS, new URL(url).host)}\n} > outputs/${index}`,
    ),
  ].join('\n');
  const env = { PATH: process.env.PATH, HOME: directory, NODE: process.execPath, LAUNCHER };
  const bash = spawn('bash', ['-c', script], { cwd: directory, env, timeout: SCRIPT_LIMIT_MS });
  let stderr = '';
  bash.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(bash, 'close');
  assert.equal(code, 0, stderr);
  assert.equal(stderr, blocks.map((_, index) => `block ${index}\n`).join(''));
  return Promise.all(blocks.map((_, index) => readFile(join(outputs, String(index)), 'utf8')));
}
