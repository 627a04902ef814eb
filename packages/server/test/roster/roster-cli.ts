/** `rollcall sync` and `rollcall export`, and roster files to give them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import type { ChangeCounts } from '@rollcall/protocol';
import { runHere } from '../cli/run-here.ts';
import { LAUNCHER } from '../support/launcher.ts';
import type { Project } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';

/** The membership graph of a real archive: 3,568 users and 34,345 groups. */
export const REAL_ROSTER = join(import.meta.dirname, '../../../../examples/debian-roster.jsonl.gz');

/** One small group of so many is taken. */
const SMALL_GROUPS_STEP = 20;

/** All users of the real roster, its large groups and some small ones: enough for many batches and pages. */
export async function partOfRealRoster(): Promise<string> {
  const lines = gunzipSync(await readFile(REAL_ROSTER))
    .toString()
    .trimEnd()
    .split('\n');
  const isTaken = (line: string, index: number) => {
    const { type, id } = JSON.parse(line) as { type: string; id: string };
    return type === 'user' || id.startsWith('section/') || index % SMALL_GROUPS_STEP === 0;
  };
  return lines.filter(isTaken).join('\n');
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunningCli {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly ended: Promise<Ended>;
}

/** Starts the command line in a process of its own, with nothing in its environment but what is given. */
export function startCli(
  args: readonly string[],
  env: Record<string, string> = {},
  cwd?: string,
): RunningCli {
  const child = spawn(process.execPath, [LAUNCHER, ...args], { env, cwd, stdio: 'pipe' });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  // A command that ends before it has read everything is none of the writer's business.
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout: Buffer.concat(stdout),
    stderr: Buffer.concat(stderr).toString('utf8'),
  }));
  return { stdin: child.stdin, stdout: child.stdout, ended };
}

/** Runs a command line to its end, with nothing in its environment but what is given. */
export async function runCli(
  args: readonly string[],
  { input, env }: { input?: string | Uint8Array; env?: Record<string, string> } = {},
): Promise<Ended> {
  const { stderr, ...ended } = await runHere(args, { ...env }, input);
  return { ...ended, stderr: stderr.toString() };
}

/** Flags that name the project to a command. */
export const flagsOf = ({ url, token }: Project) => ['--url', url, '--token', token];

export interface SyncJson {
  readonly dry_run: boolean;
  readonly complete: boolean;
  readonly users: ChangeCounts;
  readonly groups: ChangeCounts;
  readonly threads: ChangeCounts;
  readonly messages: ChangeCounts;
  readonly refused: number;
  readonly seconds: number;
}

export const counts = (created: number, updated = 0, unchanged = 0): ChangeCounts => ({
  created,
  updated,
  unchanged,
});

export interface Synced {
  readonly code: number | null;
  readonly rejections: readonly string[];
  readonly json: SyncJson;
}

/** Syncs text from standard input into a project, and reads the counts. */
export async function syncText(
  project: Project,
  text: string | Uint8Array,
  ...flags: string[]
): Promise<Synced> {
  const args = ['sync', '-', '--json', ...flagsOf(project), ...flags];
  const { code, stdout, stderr } = await runCli(args, { input: text });
  assert.notEqual(stdout.length, 0, stderr);
  const rejections = stderr.split('\n').filter((line) => line.includes(': rejected: '));
  return { code, rejections, json: JSON.parse(stdout.toString()) as SyncJson };
}

export async function exportText(project: Project, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(['export', '--quiet', ...flagsOf(project), ...flags]);
  assert.equal(stderr, '');
  assert.equal(code, 0);
  return stdout.toString();
}

/** The text of a roster file. */
export const jsonLines = (items: readonly unknown[]) =>
  items.map((item) => `${JSON.stringify(item)}\n`).join('');

/** A file for as long as `use` runs, beside a place for others. */
export function withFile<Result>(
  content: string | Uint8Array,
  use: (path: string, directory: string) => Promise<Result>,
): Promise<Result> {
  return withDataDir(async (directory) => {
    const path = join(directory, 'roster.jsonl');
    await writeFile(path, content);
    return use(path, directory);
  });
}

/** The objects of a roster, comparable: a group's members have no order. */
export function rosterSet(text: string): Set<string> {
  const items = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { members?: string[] });
  return new Set(
    items.map((item) =>
      JSON.stringify(
        Object.fromEntries(
          Object.entries({ ...item, ...(item.members && { members: item.members.toSorted() }) }).sort(),
        ),
      ),
    ),
  );
}
