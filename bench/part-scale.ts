import { projectToken } from './credentials.ts';
import { type Dataset, fill, HUGE, SMALL } from './dataset.ts';
import { type Measurement, measureAlternately, type Pace } from './measure.ts';
import { OPERATIONS } from './operations.ts';
import { addressOf } from './operations-tables.ts';
import { type Child, startRollcall } from './processes.ts';
import { print, table, two, verdict, whole } from './report.ts';

/** The target of an operation's rate, as a part of the small one, when the data set is a thousand times as large. */
const TARGET = 0.8;

/** Each operation at 1,000,000 users, 100,000 groups and 5,000,000 memberships, beside the same at 1,000 users. */
export async function scalePart(pace: Pace): Promise<void> {
  print('### Operations at 1,000,000 users, 100,000 groups, 5,000,000 memberships, beside 1,000 users');
  print();
  const token = await projectToken();
  await using small = await startFilled(token, SMALL);
  await using huge = await startFilled(token, HUGE);
  const rows: string[][] = [];
  for (const { name, requests } of OPERATIONS) {
    const subjects = [
      { name: `${name}, small`, ...addressOf(small), requests: requests(SMALL, token) },
      { name: `${name}, large`, ...addressOf(huge), requests: requests(HUGE, token) },
    ];
    const [few, many] = (await measureAlternately(subjects, pace)) as [Measurement, Measurement];
    rows.push([
      ...[name, whole(few.requestsPerSecond), whole(many.requestsPerSecond)],
      ...[two(many.p99), two(many.ratio), verdict(many.ratio >= TARGET)],
    ]);
  }
  table(['operation', 'small/s', 'large/s', 'large p99 ms', `ratio (≥ ${two(TARGET)})`, ''], rows);
}

async function startFilled(token: string, dataset: Dataset): Promise<Child> {
  const server = await startRollcall();
  await fill(server, token, dataset);
  return server;
}
