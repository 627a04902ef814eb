/** The system's Prometheus and its promtool, for tests of what a server exposes and of the files in deploy/. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../docs/markdown.ts';
import { findProgram, isRequired } from '../support/programs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/waiting.ts';

const prometheus = findProgram(['prometheus']) ?? 'prometheus';
const promtoolPath = findProgram(['promtool']);

/** Why tests with Prometheus are skipped here, or false when they are not: where it is required, its absence fails them. */
export const skipsPrometheus =
  promtoolPath === undefined && !isRequired('prometheus')
    ? 'no promtool is in the PATH: it is in the package prometheus of Debian'
    : false;

export const RULES = ['recording.yaml', 'alerts.yaml'].map((name) => join(ROOT, 'deploy/prometheus', name));

/** What promtool prints, and whether it found nothing to complain about. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly isFine: boolean; readonly printed: string } {
  const { status, stdout, stderr } = spawnSync(promtoolPath ?? 'promtool', args, { input, encoding: 'utf8' });
  return { isFine: status === 0, printed: `${stdout}${stderr}` };
}

/** A series of an answer, with its value. */
export interface Found {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** Runs `use` with a Prometheus on a free port, which scrapes these URLs every second and has the rules of deploy/. */
export async function withPrometheus<Result>(
  urls: readonly string[],
  use: (running: Prometheus) => Promise<Result>,
): Promise<Result> {
  await using directory = await temporaryDirectory('prometheus');
  const file = join(directory.path, 'prometheus.yml');
  await writeFile(file, configOf(urls));
  const child = spawn(
    prometheus,
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${directory.path}/data`,
      '--web.listen-address=127.0.0.1:0',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  try {
    const url = await addressOf(child);
    // It listens before it has read its storage and its rules, and answers 503 until then.
    await until('Prometheus to be ready', async () => (await fetch(`${url}/-/ready`)).ok);
    return await use(new Prometheus(url));
  } finally {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

export class Prometheus {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async query(query: string): Promise<readonly Found[]> {
    const { result } = await this.#get<{ result: readonly Found[] }>('query', { query });
    return result;
  }

  /** All rules with their state. */
  async rules(): Promise<readonly { name: string; health: string; state?: string; lastError?: string }[]> {
    const { groups } = await this.#get<{ groups: { rules: [] }[] }>('rules', {});
    return groups.flatMap(({ rules }) => rules);
  }

  async #get<Data>(path: string, query: Record<string, string>): Promise<Data> {
    const answer = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(query)}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: Data; error?: string };
    if (status !== 'success') throw new Error(`${JSON.stringify(query)}: ${error}`);
    return data;
  }
}

/** JSON is YAML. */
const configOf = (urls: readonly string[]) =>
  JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: RULES,
    scrape_configs: [
      {
        job_name: 'rollcall',
        static_configs: [{ targets: urls.map((url) => new URL(url).host) }],
      },
    ],
  });

async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stderr === null) throw new Error('Prometheus has no log');
  const printed: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    printed.push(line);
    const [, address] = /msg="Listening on" address=(\S+)/.exec(line) ?? [];
    if (address === undefined) continue;
    child.stderr.resume();
    return `http://${address}`;
  }
  throw new Error(`Prometheus does not listen: ${printed.join('\n')}`);
}
