import type { ChangeCounts } from '@rollcall/protocol';
import { withCommas } from '../../values/with-commas.ts';
import { amount } from '../amount.ts';
import type { SyncSummary } from './sync-roster.ts';

/** The counts as scripts read them. */
export const jsonSummary = (
  { stopped, interruptedBy: _, rejected, seconds, ...counts }: SyncSummary,
  dryRun: boolean,
) => ({
  dry_run: dryRun,
  complete: stopped === null,
  ...counts,
  refused: rejected,
  seconds,
});

/** The counts as people read them. */
export function textSummary(summary: SyncSummary, dryRun: boolean): string {
  const { rejected, seconds, stopped, interruptedBy: _, ...counts } = summary;
  const heading = [
    stopped === null ? [] : ['Stopped before the end.'],
    dryRun ? ['Dry run: nothing was changed.', wouldDo(counts)] : [],
  ].flat();
  const rows = Object.entries(counts).map(([what, changes]) => rowOf(what, changes));
  return [
    ...heading,
    '          created    updated  unchanged',
    ...rows,
    `${withCommas(rejected)} rejected, ${seconds} s`,
  ].join('\n');
}

const rowOf = (what: string, { created, updated, unchanged }: ChangeCounts) =>
  what.padEnd(8) +
  [created, updated, unchanged]
    .map((count) => withCommas(count).padStart(11))
    .join('')
    .slice(2);

type Counts = Pick<SyncSummary, 'users' | 'groups' | 'threads' | 'messages'>;

function wouldDo(counts: Counts): string {
  const all = (verb: 'created' | 'updated') => {
    const amounts = Object.entries(counts)
      .filter(([what, changes]) => what === 'users' || what === 'groups' || changes[verb] > 0)
      .map(([what, changes]) => amount(changes[verb], what));
    return new Intl.ListFormat('en-GB').format(amounts);
  };
  return `Would create ${all('created')}, and update ${all('updated')}.`;
}
