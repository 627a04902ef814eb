import process from 'node:process';

export interface Check {
  readonly name: string;
  /** Skipped: there is nothing to check, which can be as intended. */
  readonly outcome: 'ok' | 'failed' | 'skipped';
  readonly found: string;
  readonly advice: string | null;
}

const checkOf =
  (outcome: Check['outcome']) =>
  (name: string, found: string, advice: string | null = null): Check => ({ name, outcome, found, advice });

export const ok: (name: string, found: string) => Check = checkOf('ok');
export const skipped: (name: string, found: string) => Check = checkOf('skipped');
export const failed: (name: string, found: string, advice: string) => Check = checkOf('failed');

/** The oldest Node that strips the types of the sources. */
const NODE_MIN_MAJOR = 24;
/** A clock before the date of this program is wrong. */
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
