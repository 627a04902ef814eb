import { projectToken } from './credentials.ts';
import { fill, SMALL } from './dataset.ts';
import { type Measurement, measureAlternately, type Pace } from './measure.ts';
import { OPERATIONS } from './operations.ts';
import { addressOf, operationsTables, type Selection, startBareFor } from './operations-tables.ts';
import { freeWriter, startRollcall } from './processes.ts';
import { print, table, two, verdict, whole } from './report.ts';

/** The target of durable operations, as a part of the bare server's rate, when the writer's thread has a core of its own. */
const TWO_CORES_TARGET = 0.2;

/** Each operation on the embedded engine. */
export async function operationsPart(pace: Pace, selection: Selection): Promise<void> {
  print(`### Operations, the whole server on one core, 32 connections`);
  print();
  await operationsTables(pace, { ...selection, engine: async () => ({}), isEmbedded: true });
  if (pace.rounds > 1 && selection.only === '') await twoCores(pace, selection.directories[0] as string);
}

async function twoCores(pace: Pace, directory: string): Promise<void> {
  print("### Durable operations, the writer's thread on the second core (beside the load)");
  print();
  const token = await projectToken();
  await using server = await startRollcall({ directory });
  await fill(server, token, SMALL);
  freeWriter(server.pid);
  const rows: string[][] = [];
  for (const operation of OPERATIONS.filter(({ isDurable }) => isDurable)) {
    const requests = operation.requests(SMALL, token);
    await using bare = await startBareFor(operation, server, requests);
    const subjects = [bare, server].map((measured) => ({
      name: operation.name,
      ...addressOf(measured),
      requests,
    }));
    const [yardstick, ours] = (await measureAlternately(subjects, pace, false)) as [Measurement, Measurement];
    rows.push([
      ...[operation.name, whole(ours.requestsPerSecond), two(ours.p50), two(ours.p99)],
      ...[whole(yardstick.requestsPerSecond), two(ours.ratio), verdict(ours.ratio >= TWO_CORES_TARGET)],
    ]);
  }
  const ratio = `ratio (≥ ${two(TWO_CORES_TARGET)})`;
  table(['operation', 'requests/s', 'p50 ms', 'p99 ms', 'bare/s', ratio, ''], rows);
}
