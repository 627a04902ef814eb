import type { ChangeCounts } from '@rollcall/protocol';
import type { ApiConnection } from './api-connection.ts';
import type { BatchLimits } from './batch-planner.ts';
import { batchBody, type Context, NO_CONTEXT, verdictOf } from './batch-request.ts';
import { type Entry, entryOf } from './roster-entry.ts';
import type { Changes, Submit, Verdict } from './settle.ts';

/** Stands for the name of a group that an earlier line creates, where a later line about it does not name it. */
const ANY_NAME = '-';

/**
 * Asks what applying lines would do, and applies nothing. Since the server has not applied the lines before them
 * either, what these would have created and the lines at hand build upon goes along as the request's context, and
 * what the context alone would do is taken off the counts. A line about an ID of an earlier line therefore counts as
 * updated or unchanged, by comparison with what the server has now. Remembers the IDs of all lines checked so far.
 */
export class LineCheck {
  readonly #connection: ApiConnection;
  readonly #limits: BatchLimits;
  readonly #users = new Set<string>();
  readonly #groups = new Set<string>();

  constructor(connection: ApiConnection, limits: BatchLimits) {
    this.#connection = connection;
    this.#limits = limits;
  }

  readonly submit: Submit = async (entries) => {
    const verdict = await this.#check(entries);
    if (verdict.kind === 'applied') for (const entry of entries) this.#remember(entry);
    return verdict;
  };

  #remember({ kind, id }: Entry): void {
    if (id !== null) (kind === 'user' ? this.#users : this.#groups).add(id);
  }

  #check(entries: readonly Entry[]): Promise<Verdict> {
    const context = this.#contextOf(entries);
    if (this.#fits(entries, context)) return this.#ask(entries, context);
    const [only] = entries;
    if (only !== undefined && entries.length === 1) return this.#checkLargeGroup(only, context);
    return Promise.resolve({ kind: 'tooLarge', reason: 'these lines build upon too many others' });
  }

  #contextOf(entries: readonly Entry[]): Context {
    const users = new Set<string>();
    const groups = new Map<string, string>();
    for (const { kind, id, members, item } of entries) {
      for (const member of members) if (this.#users.has(member)) users.add(member);
      if (id === null) continue;
      if (kind === 'user' && this.#users.has(id)) users.add(id);
      if (kind === 'group' && this.#groups.has(id)) groups.set(id, nameOf(item.name));
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

  /** What the lines would do on top of the context. */
  async #ask(entries: readonly Entry[], context: Context): Promise<Verdict> {
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
   * A group that names more users of the file than a batch can hold. Unless the server knows all of them already, the
   * group is checked with a slice of them at a time; then it would be changed, since it gets a user who is new.
   */
  async #checkLargeGroup(entry: Entry, { groups }: Context): Promise<Verdict> {
    let verdict: Verdict = await this.#ask([entry], { ...NO_CONTEXT, groups });
    if (verdict.kind === 'applied') return verdict;
    for (let start = 0; start < entry.members.length; start += this.#limits.users) {
      const members = entry.members.slice(start, start + this.#limits.users);
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

/** Never below zero: somebody else may have written between the two requests. */
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
