import type { Pace } from './measure.ts';
import { runBeside, startRollcall } from './processes.ts';
import { print, table, two, verdict, whole } from './report.ts';
import type { DeparturePlan, DepartureResult, Ending } from './socket-departure-load.ts';
import { fill, pages } from './socket-pages.ts';

interface Way {
  readonly ending: Ending;
  readonly name: string;
  readonly tries: number;
  readonly targetMs: number;
}

const WAYS: readonly Way[] = [
  { ending: 'close', name: 'is closed cleanly', tries: 50, targetMs: 50 },
  { ending: 'reset', name: 'is reset', tries: 50, targetMs: 2_500 },
  { ending: 'vanish', name: 'vanishes without a sign', tries: 10, targetMs: 12_000 },
];

/** How long after the end of a page's connection a watcher gets its departure. */
export async function departures(_pace: Pace, token: string): Promise<void> {
  print('### Socket: from the end of a connection to the departure of its page');
  print();
  const [watcher, ...leaving] = pages(1 + WAYS.reduce((sum, { tries }) => sum + tries, 0), 1, 'page');
  if (watcher === undefined) return;
  await using server = await startRollcall();
  await fill(server, token, [watcher, ...leaving]);
  const rows: string[][] = [];
  for (const { ending, name, tries, targetMs } of WAYS) {
    const { p50, max, missed } = await runBeside<DeparturePlan, DepartureResult>('socket-departure-load.ts', {
      ...{ port: server.port, watcher, ending },
      pages: leaving.splice(0, tries),
    });
    const isMet = missed === 0 && max <= targetMs;
    const target = `≤ ${whole(targetMs)}, 0`;
    rows.push([name, String(tries), two(p50), two(max), String(missed), target, verdict(isMet)]);
  }
  table(
    ['the connection', 'tries', 'p50 ms', 'longest ms', 'departures that did not come', 'target', ''],
    rows,
  );
}
