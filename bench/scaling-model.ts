/** What many users need, computed from what one of each thing costs. What users do is assumed, and printed with the result. */
import type { Cost } from './cost-counters.ts';
import { one, print, table, two, whole } from './report.ts';

export interface UnitCosts {
  /** A move through a socket with its event to one reader; reading a group; renaming a group. */
  readonly move: Cost;
  readonly read: Cost;
  readonly write: Cost;
  /** One more reader of an event, in microseconds of the server. */
  readonly event: number;
  /** Bytes of PostgreSQL's disk and of Redis' memory. */
  readonly userBytes: number;
  readonly membershipBytes: number;
  readonly presenceBytes: number;
}

const POPULATIONS = [10_000, 1_000_000, 100_000_000];
const PRESENT_SHARE = 0.01;
const MEMBERSHIPS = 10;
/** For each present user and second. */
const MOVES = 0.1;
const READS = 0.05;
const WRITES = 0.01;
/** Other present users who see each move. */
const READERS = 4;
/** A core is planned for this share of its time, so that bursts and the loss of a machine are no outage. */
const USED_SHARE = 0.5;

interface Needs {
  readonly server: number;
  readonly postgres: number;
  readonly redis: number;
}

/** Cores for so many present users. */
function coresFor(present: number, { move, read, write, event }: UnitCosts): Needs {
  const cores = (of: 'server' | 'postgres' | 'redis', eventMicroseconds = 0) =>
    (present *
      (MOVES * (move[of] + (READERS - 1) * eventMicroseconds) + READS * read[of] + WRITES * write[of])) /
    1e6 /
    USED_SHARE;
  return { server: cores('server', event), postgres: cores('postgres'), redis: cores('redis') };
}

const gigabytes = (bytes: number) => two(bytes / 1e9);

export function printNeeds(costs: UnitCosts): void {
  print('### What many users need');
  print();
  print(
    `Of all users ${PRESENT_SHARE * 100} % are present. Each of these makes ${MOVES} moves, ${READS} reads and ${WRITES} writes ` +
      `a second, and ${READERS} others see each move. Each user has ${MEMBERSHIPS} memberships. Cores are used to ` +
      `${USED_SHARE * 100} %.`,
  );
  print();
  table(
    ['users', 'present', 'server cores', 'PostgreSQL cores', 'Redis cores', 'PostgreSQL GB', 'Redis GB'],
    POPULATIONS.map((users) => {
      const present = users * PRESENT_SHARE;
      const { server, postgres, redis } = coresFor(present, costs);
      const disk = users * (costs.userBytes + MEMBERSHIPS * costs.membershipBytes);
      return [
        ...[whole(users), whole(present), one(server), one(postgres), one(redis)],
        ...[gigabytes(disk), gigabytes(present * costs.presenceBytes)],
      ];
    }),
  );
}
