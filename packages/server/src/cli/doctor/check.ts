import process from 'node:process';

/** What was looked at, and what to do where it is not as it should be. */
export interface Check {
  readonly name: string;
  /** Skipped: there is nothing to look at, and that may well be so. */
  readonly outcome: 'ok' | 'failed' | 'skipped';
  readonly found: string;
  readonly advice: string | null;
}

export const ok = (name: string, found: string): Check => ({ name, outcome: 'ok', found, advice: null });
export const skipped = (name: string, found: string): Check => ({
  name,
  outcome: 'skipped',
  found,
  advice: null,
});
export const failed = (name: string, found: string, advice: string): Check => ({
  name,
  outcome: 'failed',
  found,
  advice,
});

/** The oldest Node that runs the server's TypeScript as it is. */
const NODE_MIN_MAJOR = 24;
/** No machine that runs this is right about a time before it was written. */
const EARLIEST = Date.UTC(2026, 0, 1);

export function nodeCheck(): Check {
  const { node } = process.versions;
  return Number.parseInt(node, 10) >= NODE_MIN_MAJOR
    ? ok('Node', node)
    : failed('Node', node, `Install Node ${NODE_MIN_MAJOR} or later, or run npm ci, which brings one along.`);
}

export function clockCheck(now = Date.now()): Check {
  const time = new Date(now).toISOString();
  return now >= EARLIEST
    ? ok('clock', time)
    : failed(
        'clock',
        `${time} is in the past`,
        'Set the clock: tokens that hosts sign now count as not yet valid.',
      );
}
