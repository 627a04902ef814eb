import type { CarriedType, CarryTally } from './carry-records.ts';

/** What a run did, or would do. */
export interface CarrySummary {
  readonly tally: CarryTally;
  readonly dryRun: boolean;
  /** The target's servers have signed access tokens with another key until now. */
  readonly keyChanged: boolean;
  readonly seconds: number;
}

/** The types in the order in which they are shown, by the names that scripts and people read. */
const NAMES: Readonly<Record<CarriedType, readonly [key: string, words: string]>> = {
  serviceKey: ['service_key', 'service key'],
  customer: ['customers', 'customers'],
  project: ['projects', 'projects'],
  session: ['sessions', 'sessions'],
  preferences: ['preferences', 'preferences'],
  workspace: ['workspaces', 'messenger workspaces'],
  durablePresence: ['durable_presence', 'durable presence'],
};
const TYPES = Object.keys(NAMES) as CarriedType[];

const countsOf = (tally: CarryTally, type: CarriedType) => tally.get(type) ?? { written: 0, skipped: 0 };

export const skippedIn = (tally: CarryTally): number =>
  TYPES.reduce((sum, type) => sum + countsOf(tally, type).skipped, 0);

/** The counts as scripts read them. */
export function jsonCarrySummary({ tally, dryRun, keyChanged, seconds }: CarrySummary) {
  const records = TYPES.map((type) => {
    const { written, skipped } = countsOf(tally, type);
    return [NAMES[type][0], { carried: written, skipped }];
  });
  const totals = { dry_run: dryRun, skipped: skippedIn(tally) };
  return { ...totals, restart_servers: keyChanged, records: Object.fromEntries(records), seconds };
}

/** The counts as people read them, and what to do next. */
export function textCarrySummary({ tally, dryRun, keyChanged, seconds }: CarrySummary): string {
  const rows = TYPES.map((type) => {
    const { written, skipped } = countsOf(tally, type);
    return NAMES[type][1].padEnd(20) + number(written).padStart(10) + number(skipped).padStart(10);
  });
  return [
    ...(dryRun ? ['Dry run: nothing was changed.'] : []),
    `${''.padEnd(20)}${(dryRun ? 'to carry' : 'carried').padStart(10)}${'skipped'.padStart(10)}`,
    ...rows,
    `${seconds} s`,
    ...advice({ tally, dryRun, keyChanged }),
  ].join('\n');
}

const number = (value: number) => value.toLocaleString('en-US');

function advice({ tally, dryRun, keyChanged }: Omit<CarrySummary, 'seconds'>): string[] {
  const skipped = skippedIn(tally);
  const lines: string[] = [];
  if (skipped > 0) {
    lines.push(
      `${number(skipped)} ${skipped === 1 ? 'record was' : 'records were'} skipped: the project, user, group or membership is not in the target store.`,
      'Copy the users and groups of each project with "rollcall export" and "rollcall sync", then run this again.',
    );
  }
  if (keyChanged && !dryRun)
    lines.push('Restart servers that run on the target store: they have read its former service key.');
  lines.push('What is written to the source store from now on is not carried: run this again to carry it.');
  return lines;
}
