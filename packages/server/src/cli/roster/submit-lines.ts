import type { ChangeCounts } from '@rollcall/protocol';
import type { LineOrigin } from '../records/record-line.ts';
import type { Entry } from './roster-entry.ts';

/** The outcome of a request, or in a dry run the expected one. */
export interface Changes {
  readonly users: ChangeCounts;
  readonly groups: ChangeCounts;
}

/** The server's answer to lines that were sent together. It applies all of them or none. */
export type Verdict =
  | { readonly kind: 'applied'; readonly changes: Changes }
  /** They do not fit in one request. */
  | { readonly kind: 'tooLarge'; readonly reason: string }
  /** `blamed`: positions of the lines that the reason seems to name. Only a hint: an ID in a reason can have the form of a path. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly blamed: readonly number[] };

export type Submit = (entries: readonly Entry[]) => Promise<Verdict>;

export interface LineReport {
  applied(changes: Changes): void;
  rejected(origin: LineOrigin, reason: string): void;
}

/**
 * Sends lines until each is applied or rejected by itself, with the outcome of sending them one by one in order: lines
 * that the server rejects together are cut around those that it blames, or into halves, and the parts are sent in order.
 * So every rejected line has the server's reason for that line alone.
 */
export async function submitLines(
  entries: readonly Entry[],
  submit: Submit,
  report: LineReport,
): Promise<void> {
  const verdict = await submit(entries);
  const [only] = entries;
  if (verdict.kind === 'applied') report.applied(verdict.changes);
  else if (only !== undefined && entries.length === 1) report.rejected(only.origin, verdict.reason);
  else for (const part of partsOf(entries, verdict)) await submitLines(part, submit, report);
}

function partsOf(entries: readonly Entry[], verdict: Exclude<Verdict, { kind: 'applied' }>): Entry[][] {
  const blamed = verdict.kind === 'rejected' ? verdict.blamed : [];
  if (blamed.length === 0) return cut(entries, [entries.length >> 1]);
  return cut(
    entries,
    blamed.flatMap((position) => [position, position + 1]),
  );
}

/** The parts between the positions, none of them empty. */
function cut(entries: readonly Entry[], positions: readonly number[]): Entry[][] {
  const ends = [...new Set(positions), entries.length].sort((a, b) => a - b);
  return ends.map((end, index) => entries.slice(ends[index - 1] ?? 0, end)).filter((part) => part.length > 0);
}
