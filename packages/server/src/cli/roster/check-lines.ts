import type { ChangeCounts } from '@rollcall/protocol';
import { slices } from '../../values/slices.ts';
import type { ApiConnection } from './api-connection.ts';
import type { BatchLimits } from './batch-planner.ts';
import { batchBody, type Context, NO_CONTEXT, verdictOf } from './batch-request.ts';
import { CheckedRoster } from './checked-roster.ts';
import { type Entry, entryOf } from './roster-entry.ts';
import type { Changes, Submit, Verdict } from './submit-lines.ts';

/** The name in the context of a group that an earlier line creates, where a later line about the group has none. */
const ANY_NAME = '-';

/**
 * Checks lines by dry runs of the server, which apply nothing. The server has not applied earlier lines either, so the
 * users and groups of earlier lines that a line needs are sent before it as a context; what the context alone would change
 * is subtracted from the counts. A line about an ID of an earlier line therefore counts as updated or unchanged, compared
 * with what the server has now. The IDs of all checked lines are stored in memory.
 */
export class LineCheck {
  readonly #connection: ApiConnection;
  readonly #limits: BatchLimits;
  readonly #checked: CheckedRoster;

  constructor(connection: ApiConnection, limits: BatchLimits, checked = new CheckedRoster()) {
    this.#connection = connection;
    this.#limits = limits;
    this.#checked = checked;
  }

  readonly submit: Submit = async (entries) => {
    const verdict = await this.#check(entries);
    if (verdict.kind === 'applied') for (const entry of entries) this.#checked.store(entry);
    return verdict;
  };

  #check(entries: readonly Entry[]): Promise<Verdict> {
    const context = this.#contextOf(entries);
    if (this.#fits(entries, context)) return this.#dryRun(entries, context);
    const [only] = entries;
    if (only !== undefined && entries.length === 1) return this.#checkLargeGroup(only, context);
    return Promise.resolve({ kind: 'tooLarge', reason: 'these lines need too many others' });
  }

  #contextOf(entries: readonly Entry[]): Context {
    const users = new Set<string>();
    const groups = new Map<string, string>();
    for (const { kind, id, members, item } of entries) {
      for (const member of members) if (this.#checked.users.has(member)) users.add(member);
      if (id === null) continue;
      if (kind === 'user' && this.#checked.users.has(id)) users.add(id);
      if (kind === 'group' && this.#checked.groups.has(id)) groups.set(id, nameOf(item.name));
    }
    return {
      users: Array.from(users, (id) => JSON.stringify({ id })),
      groups: Array.from(groups, ([id, name]) => JSON.stringify({ id, name })),
    };
  }

  #fits(entries: readonly Entry[], { users, groups }: Context): boolean {
    const userLines = entries.filter(({ kind }) => kind === 'user').length;
    return (
      userLines + users.length <= this.#limits.users &&
      entries.length - userLines + groups.length <= this.#limits.groups
    );
  }

  /** The outcome of the lines on top of the context. */
  async #dryRun(entries: readonly Entry[], context: Context): Promise<Verdict> {
    const whole = await this.#post(entries, context);
    if (whole.kind !== 'applied' || context.users.length + context.groups.length === 0) return whole;
    const before = await this.#post([], context);
    return before.kind === 'applied'
      ? { kind: 'applied', changes: difference(whole.changes, before.changes) }
      : before;
  }

  async #post(entries: readonly Entry[], context: Context): Promise<Verdict> {
    const body = batchBody(entries, context);
    const answer = await this.#connection.request('POST', '/v1/batch?dry_run=true', body);
    return verdictOf(answer, entries, context);
  }

  /**
   * Checks a group that names more users of the file than a batch takes. Where the server does not know all of them, the
   * group is checked with a part of them at a time; it would be updated then, since it gets a new user.
   */
  async #checkLargeGroup(entry: Entry, { groups }: Context): Promise<Verdict> {
    let verdict: Verdict = await this.#dryRun([entry], { ...NO_CONTEXT, groups });
    if (verdict.kind === 'applied') return verdict;
    for (const members of slices(entry.members, this.#limits.users)) {
      verdict = await this.#check([entryOf(entry.kind, { ...entry.item, members }, entry.origin)]);
      if (verdict.kind !== 'applied') return verdict;
    }
    return verdict.kind === 'applied'
      ? { kind: 'applied', changes: unchangedAsUpdated(verdict.changes) }
      : verdict;
  }
}

const nameOf = (name: unknown) => (typeof name === 'string' && name !== '' ? name : ANY_NAME);

function difference(whole: Changes, part: Changes): Changes {
  return { users: less(whole.users, part.users), groups: less(whole.groups, part.groups) };
}

/** At least zero: another client may have written between the two requests. */
function less(whole: ChangeCounts, part: ChangeCounts): ChangeCounts {
  return {
    created: Math.max(0, whole.created - part.created),
    updated: Math.max(0, whole.updated - part.updated),
    unchanged: Math.max(0, whole.unchanged - part.unchanged),
  };
}

function unchangedAsUpdated({ users, groups }: Changes): Changes {
  return { users, groups: { ...groups, updated: groups.updated + groups.unchanged, unchanged: 0 } };
}
