import { projectToken } from './credentials.ts';
import { fill, SMALL, smallGroupId } from './dataset.ts';
import { type Measurement, measureInTurn, type Pace, type Subject } from './measure.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { type Child, freeWriter, freshDirectory, startServer } from './processes.ts';
import { say, table, two, verdict, whole } from './report.ts';

/** Each operation beside a bare `node:http` server, and durable ones beside a commit for each request. */
export async function operationsPart(pace: Pace): Promise<void> {
  const token = await projectToken();
  const rollcall = await startFilled(token);
  const bare = await startServer(
    'bare-server.ts',
    await answerOf(rollcall.port, `/v1/groups/${smallGroupId(0)}`, token),
  );
  const single = await startFilled(token, { maxOperationsPerCommit: 1 });
  await oneCore(pace, token, rollcall, bare, single);
  await twoCores(pace, token, rollcall, bare);
  await Promise.all([rollcall, bare, single].map((server) => server.stop()));
}

async function startFilled(token: string, options: object = {}): Promise<Child> {
  const server = await startServer(
    'rollcall-server.ts',
    JSON.stringify({ dataDir: freshDirectory(), ...options }),
  );
  await fill(server.port, token, SMALL);
  return server;
}

async function answerOf(port: number, path: string, token: string): Promise<string> {
  return (
    await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${token}` } })
  ).text();
}

function bareSubject(bare: Child, token: string): Subject {
  const [getGroup] = OPERATIONS as [Operation];
  return { name: 'bare node:http', port: bare.port, requests: getGroup.requests(SMALL, token) };
}

async function oneCore(
  pace: Pace,
  token: string,
  rollcall: Child,
  bare: Child,
  single: Child,
): Promise<void> {
  say('### Operations, the whole server on one core, 32 connections');
  say();
  const rows: string[][] = [];
  for (const operation of OPERATIONS) {
    const requests = operation.requests(SMALL, token);
    const subjects = [bareSubject(bare, token), { name: operation.name, port: rollcall.port, requests }];
    if (operation.targetOnTwoCores !== null) {
      subjects.push({ name: 'a commit for each', port: single.port, requests });
    }
    const [bareline, ours, each] = await measureInTurn(subjects, pace);
    if (bareline === undefined || ours === undefined) throw new Error('nothing was measured');
    const better = each === undefined || ours.requestsPerSecond >= each.requestsPerSecond;
    rows.push([
      ...row(operation.name, bareline, ours, operation.target),
      each === undefined ? '' : whole(each.requestsPerSecond),
      better ? '' : 'SLOWER',
    ]);
  }
  table(
    ['operation', 'requests/s', 'p50 ms', 'p99 ms', 'bare/s', 'ratio', 'target', '', 'a commit each/s', ''],
    rows,
  );
}

async function twoCores(pace: Pace, token: string, rollcall: Child, bare: Child): Promise<void> {
  say("### Durable operations, the writer's thread on the second core (beside the load)");
  say();
  freeWriter(rollcall.pid);
  const rows: string[][] = [];
  for (const operation of OPERATIONS) {
    if (operation.targetOnTwoCores === null) continue;
    const requests = operation.requests(SMALL, token);
    const subjects = [bareSubject(bare, token), { name: operation.name, port: rollcall.port, requests }];
    const [bareline, ours] = await measureInTurn(subjects, pace, false);
    if (bareline === undefined || ours === undefined) throw new Error('nothing was measured');
    rows.push(row(operation.name, bareline, ours, operation.targetOnTwoCores));
  }
  table(['operation', 'requests/s', 'p50 ms', 'p99 ms', 'bare/s', 'ratio', 'target', ''], rows);
}

function row(name: string, bare: Measurement, ours: Measurement, target: number): string[] {
  const { requestsPerSecond, p50, p99, ratio } = ours;
  return [
    name,
    whole(requestsPerSecond),
    two(p50),
    two(p99),
    whole(bare.requestsPerSecond),
    two(ratio),
    `≥ ${two(target)}`,
    verdict(ratio >= target),
  ];
}
