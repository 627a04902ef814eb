import type { ChangeCounts } from '@rollcall/protocol';
import type { SyncSummary } from './sync-roster.ts';

/** The counts as scripts read them. */
export const jsonSummary = ({ users, groups, rejected, seconds, stopped }: SyncSummary, dryRun: boolean) => ({
  dry_run: dryRun,
  complete: stopped === null,
  users,
  groups,
  refused: rejected,
  seconds,
});

/** The counts as people read them. */
export function textSummary(summary: SyncSummary, dryRun: boolean): string {
  const { users, groups, rejected, seconds, stopped } = summary;
  const heading = [
    stopped === null ? [] : ['Stopped before the end.'],
    dryRun ? ['Dry run: nothing was changed.', wouldDo(users, groups)] : [],
  ].flat();
  const table = ['        created    updated  unchanged', rowOf('users', users), rowOf('groups', groups)];
  return [...heading, ...table, `${number(rejected)} rejected, ${seconds} s`].join('\n');
}

const number = (value: number) => value.toLocaleString('en-US');

const rowOf = (what: string, { created, updated, unchanged }: ChangeCounts) =>
  what.padEnd(6) +
  [created, updated, unchanged]
    .map((count) => number(count).padStart(11))
    .join('')
    .slice(2);

function wouldDo(users: ChangeCounts, groups: ChangeCounts): string {
  const all = (verb: 'created' | 'updated') =>
    `${number(users[verb])} ${users[verb] === 1 ? 'user' : 'users'} and ${number(groups[verb])} ${groups[verb] === 1 ? 'group' : 'groups'}`;
  return `Would create ${all('created')}, and update ${all('updated')}.`;
}
