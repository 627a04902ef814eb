import { proveChanges } from '../packages/server/test/changes/change-proof.ts';
import { Project } from '../packages/server/test/support/project-client.ts';
import { fillPostgresChanges, fillSqliteChanges } from './change-fill.ts';
import type { ChangeReadPlan, ChangeReadResult } from './change-reader.ts';
import { type Engine, measuredEngines } from './conversation-engines.ts';
import { PROJECT, projectToken } from './credentials.ts';
import type { Pace } from './measure.ts';
import type { Selection } from './operations-tables.ts';
import { BOTH_CORES, runBeside, startRollcall } from './processes.ts';
import { print, table, two, verdict, whole } from './report.ts';

/** Changes a second that a reader who is far behind gets from one core, embedded. */
const TARGET = 50_000;
/** How much the server's memory may grow after the first tenth. */
const MEMORY_TARGET = 64 * 1_024 ** 2;
const SEED = 1;

export interface ChangesSelection extends Selection {
  /** How many changes are read, and how many the proof makes at least. */
  readonly changes: number;
}

/** A reader that is far behind, on both engines; and the proof that none is missed while many writers write. */
export async function changesPart(_pace: Pace, selection: ChangesSelection): Promise<void> {
  for (const engine of await measuredEngines('Changes', selection.only))
    await catchUpTable(engine, selection.changes);
}

/** Many writers and readers without pause, at length: the same as the test of changes under load. */
export async function changeProofPart(_pace: Pace, selection: ChangesSelection): Promise<void> {
  for (const engine of await measuredEngines('Changes', selection.only))
    await prove(engine, selection.changes);
}

async function catchUpTable(engine: Engine, count: number): Promise<void> {
  await using store = await engine.makeStore();
  await (await startRollcall(store.options)).stop();
  const before = await store.bytes();
  const { dataDirectory, databaseUrl } = store.options;
  if (databaseUrl !== undefined) await fillPostgresChanges(databaseUrl, count);
  else fillSqliteChanges(dataDirectory as string, count);
  const megabytes = (bytes: number) => `${(bytes / 1_024 ** 2).toFixed(0)} MB`;
  print(`### Catching up with ${whole(count)} changes on ${engine.name}`);
  print();
  print(
    `On disk: ${megabytes((((await store.bytes()) - before) / count) * 1e6)} for a million changes of one user each.`,
  );
  print();
  await using server = await startRollcall(store.options);
  const token = await projectToken();
  const rows: string[][] = [];
  for (const isStream of [false, true]) {
    const plan = { port: server.port, token, serverPid: server.pid, isStream, count };
    const result = await runBeside<ChangeReadPlan, ChangeReadResult>('change-reader.ts', plan);
    if (result.changes !== count) throw new Error(`${result.changes} changes were read, not ${count}`);
    const { seconds, processorSeconds, bytesAfterTenth, bytesAtMost } = result;
    const rate = count / seconds;
    const added = bytesAtMost - bytesAfterTenth;
    rows.push([
      ...[
        isStream ? 'a stream' : 'pages of 10,000',
        whole(rate),
        engine.isEmbedded ? verdict(rate >= TARGET) : '',
      ],
      ...[two(processorSeconds), whole(count / processorSeconds)],
      ...[megabytes(bytesAfterTenth), megabytes(bytesAtMost), verdict(added <= MEMORY_TARGET)],
    ]);
  }
  table(
    [
      ...['read as', `changes/s${engine.isEmbedded ? ` (≥ ${whole(TARGET)})` : ''}`, ''],
      ...[
        'server processor s',
        'changes per processor s',
        'memory after a tenth',
        'at most',
        `≤ ${megabytes(MEMORY_TARGET)} more`,
      ],
    ],
    rows,
  );
}

async function prove(engine: Engine, changes: number): Promise<void> {
  await using made = new AsyncDisposableStack();
  const { options } = made.use(await engine.makeStore());
  const projects: Project[] = [];
  const begun = performance.now();
  for (let process = 0; process < (engine.isEmbedded ? 1 : 2); process += 1) {
    const server = made.use(await startRollcall({ ...options, cores: BOTH_CORES }));
    const url = `http://127.0.0.1:${server.port}`;
    const project = new Project(url, PROJECT.id, PROJECT.secret, await projectToken());
    projects.push(made.adopt(project, (open) => open.close()));
  }
  const { databaseUrl } = options;
  const count = await proveChanges({
    ...{ projects: projects as [Project, ...Project[]], seed: SEED, changes },
    ...(databaseUrl !== undefined && { databaseUrl }),
  });
  const seconds = (performance.now() - begun) / 1_000;
  print(
    `${whole(count)} changes on ${engine.name}, ${projects.length} process(es), in ${whole(seconds)} s: none missed, none twice, and a replay gives what the API reads.`,
  );
  print();
}
