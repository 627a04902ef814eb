import { projectToken } from './credentials.ts';
import { type Dataset, fill, LARGE, SMALL } from './dataset.ts';
import { measureInTurn, type Pace } from './measure.ts';
import { OPERATIONS } from './operations.ts';
import { type Child, freshDirectory, startServer } from './processes.ts';
import { say, table, two, verdict, whole } from './report.ts';

/** What must be left of an operation's throughput when the data set is a thousand times as large. */
const TARGET = 0.8;

/** Each operation at 1,000,000 users, 100,000 groups and 5,000,000 memberships, beside the same at 1,000 users. */
export async function scalePart(pace: Pace): Promise<void> {
  say('### Operations at 1,000,000 users, 100,000 groups, 5,000,000 memberships, beside 1,000 users');
  say();
  const token = await projectToken();
  const small = await startFilled(token, SMALL);
  const large = await startFilled(token, LARGE);
  const rows: string[][] = [];
  for (const operation of OPERATIONS) {
    const subjects = [
      { name: `${operation.name}, small`, port: small.port, requests: operation.requests(SMALL, token) },
      { name: `${operation.name}, large`, port: large.port, requests: operation.requests(LARGE, token) },
    ];
    const [few, many] = await measureInTurn(subjects, pace);
    if (few === undefined || many === undefined) throw new Error('nothing was measured');
    rows.push([
      operation.name,
      whole(few.requestsPerSecond),
      whole(many.requestsPerSecond),
      two(many.p99),
      two(many.ratio),
      verdict(many.ratio >= TARGET),
    ]);
  }
  table(['operation', 'small/s', 'large/s', 'large p99 ms', `ratio (≥ ${two(TARGET)})`, ''], rows);
  await Promise.all([small.stop(), large.stop()]);
}

async function startFilled(token: string, dataset: Dataset): Promise<Child> {
  const server = await startServer('rollcall-server.ts', JSON.stringify({ dataDir: freshDirectory() }));
  await fill(server.port, token, dataset);
  return server;
}
