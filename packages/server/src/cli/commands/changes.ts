import { setTimeout as passed } from 'node:timers/promises';
import type { ChangeList, RecordedChange } from '@rollcall/protocol';
import { isActor, readTypes } from '../../core/changes/change-filter.ts';
import { readPosition } from '../../core/changes/change-position.ts';
import { readAs, readId } from '../arguments.ts';
import { untilAborted, withInterruption } from '../interruption.ts';
import { noteLine } from '../output.ts';
import { writeRecords } from '../records/record-output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { type ApiConnection, expectOk } from '../roster/api-connection.ts';
import { addConnectionOptions, type ConnectionFlags, withConnection } from '../roster/connection-options.ts';

interface ChangesFlags extends ConnectionFlags {
  readonly after?: string;
  readonly type?: string;
  readonly group?: string;
  readonly user?: string;
  readonly actor?: string;
  readonly requestId?: string;
  readonly follow?: true;
  readonly json?: true;
}

const textThat = (expected: string, isRight: (text: string) => boolean) => ({
  expected,
  read: (text: string) => (isRight(text) ? text : undefined),
});
const AFTER = textThat(
  'latest, or the id of a change',
  (text) => text === 'latest' || readPosition(text) !== null,
);
const TYPES = textThat('types of changes', (text) => readTypes(text) !== null);
const ACTOR = textThat('a kind of actor, such as client_token, or kind:id', isActor);

/** How often new changes are read, in milliseconds. */
const POLL_MS = 1_000;

export function changesCommand(): RollcallCommand {
  return new RollcallCommand('changes')
    .description('Print what changed in a project, who made it and in which request, the oldest first.')
    .with(addConnectionOptions)
    .option(
      '--after <position>',
      'only changes after this one (its id), or latest (default: all that are stored)',
      readAs(AFTER),
    )
    .option(
      '--type <types>',
      'only these types, separated by commas, such as user.created,member.*',
      readAs(TYPES),
    )
    .option('--group <id>', 'only changes that name this group', readId)
    .option('--user <id>', 'only changes that name this user', readId)
    .option('--actor <actor>', 'only changes by this kind of actor, or kind:id', readAs(ACTOR))
    .option('--request-id <id>', 'only changes of requests with this ID')
    .option('--follow', 'go on with new changes until Ctrl-C; the server may be away meanwhile')
    .option('--json', 'print a JSON object for each change, one a line')
    .action(printChanges)
    .examples(
      ['rollcall changes --user ada', 'everything that was done to the user ada'],
      ['rollcall changes --type member.removed --actor client_token', 'who was removed by a browser'],
      ['rollcall changes --follow --after latest --json', 'new changes, for another program'],
    );
}

async function printChanges(flags: ChangesFlags): Promise<void> {
  const textOf = flags.json === true ? JSON.stringify : lineOf;
  const printUntil = (stop: AbortSignal) =>
    withConnection(flags, { onRetry: noteLine, isPatient: flags.follow === true }, (connection) =>
      writeRecords(textOfPages(pages(connection, flags, stop), textOf), { path: null, gzip: false }),
    );
  await (flags.follow === true ? withInterruption(printUntil) : printUntil(new AbortController().signal));
}

async function* textOfPages(lists: AsyncIterable<ChangeList>, textOf: (change: RecordedChange) => string) {
  for await (const { changes } of lists)
    if (changes.length > 0) yield changes.map((change) => `${textOf(change)}\n`).join('');
}

/** Page after page up to the newest change, and with `--follow` until the signal. */
async function* pages(connection: ApiConnection, flags: ChangesFlags, stop: AbortSignal) {
  for (let after = flags.after; !stop.aborted; ) {
    const answer = await untilAborted(connection.request('GET', pathOf(flags, after)), stop);
    if (answer === null) return;
    const page = expectOk(answer).json as ChangeList;
    yield page;
    after = page.next;
    if (page.more) continue;
    if (flags.follow !== true) return;
    await passed(POLL_MS, undefined, { signal: stop }).catch(() => {});
  }
}

function pathOf({ type, group, user, actor, requestId }: ChangesFlags, after: string | undefined): string {
  const filter = { after, type, group, user, actor, request_id: requestId };
  const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `/v1/changes?${new URLSearchParams(given)}`;
}

/** A line for a person: the time, the type, what is concerned, by whom. */
function lineOf({
  id: _,
  at,
  type,
  actor,
  request_id: request,
  fields,
  users,
  ...named
}: RecordedChange): string {
  const by = actor.id === null ? actor.kind : `${actor.kind}:${actor.id}`;
  const concerned = Object.entries({
    ...named,
    users: users?.join(','),
    fields: fields?.join(','),
    by,
    request,
  });
  const texts = concerned.flatMap(([name, value]) => (value == null ? [] : [`${name}=${quoted(value)}`]));
  return [at, type, ...texts].join('  ');
}

/** IDs can have spaces and quotation marks. */
const quoted = (value: string) => (/^[^\s"=]+$/.test(value) ? value : JSON.stringify(value));
