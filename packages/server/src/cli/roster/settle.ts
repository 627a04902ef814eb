import type { ChangeCounts } from '@rollcall/protocol';
import type { Entry } from './roster-entry.ts';

/** What a request did, or would do. */
export interface Changes {
  readonly users: ChangeCounts;
  readonly groups: ChangeCounts;
}

/** How the server took some lines that were sent together. Unless it applied all of them, it applied none. */
export type Verdict =
  | { readonly kind: 'applied'; readonly changes: Changes }
  /** They do not fit in one request. */
  | { readonly kind: 'tooLarge'; readonly reason: string }
  /** `blamed`: positions of the lines that the reason seems to name. Only a hint: IDs in a reason can read like places. */
  | { readonly kind: 'refused'; readonly reason: string; readonly blamed: readonly number[] };

export type Submit = (entries: readonly Entry[]) => Promise<Verdict>;

/** Where outcomes are written down. */
export interface Ledger {
  applied(entries: readonly Entry[], changes: Changes): void;
  refused(entry: Entry, reason: string): void;
}

/**
 * Sends lines until each is applied or refused by itself, with the outcome of sending them one by one in order: where
 * the server refuses lines together, they are cut around those that it blames, or into halves, and the parts are sent
 * in order. So every refused line has the server's reason for it alone.
 */
export async function settle(entries: readonly Entry[], submit: Submit, ledger: Ledger): Promise<void> {
  const verdict = await submit(entries);
  const [only] = entries;
  if (verdict.kind === 'applied') ledger.applied(entries, verdict.changes);
  else if (only !== undefined && entries.length === 1) ledger.refused(only, verdict.reason);
  else for (const part of partsOf(entries, verdict)) await settle(part, submit, ledger);
}

function partsOf(entries: readonly Entry[], verdict: Exclude<Verdict, { kind: 'applied' }>): Entry[][] {
  const blamed = verdict.kind === 'refused' ? verdict.blamed : [];
  if (blamed.length === 0) return cut(entries, [entries.length >> 1]);
  return cut(
    entries,
    blamed.flatMap((position) => [position, position + 1]),
  );
}

/** The parts between the places, none of them empty. */
function cut(entries: readonly Entry[], places: readonly number[]): Entry[][] {
  const ends = [...new Set(places), entries.length].sort((a, b) => a - b);
  return ends.map((end, index) => entries.slice(ends[index - 1] ?? 0, end)).filter((part) => part.length > 0);
}
