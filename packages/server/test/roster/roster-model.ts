/** A naive server of batches, in memory: what the order in which lines are sent is judged by. */
import type { ChangeCounts } from '@rollcall/protocol';
import type { Entry } from '../../src/cli/roster/roster-entry.ts';
import type { Changes, Verdict } from '../../src/cli/roster/submit-lines.ts';

interface ModelGroup {
  readonly name: string;
  readonly members: readonly string[];
}

interface ModelState {
  readonly users: Map<string, string>;
  readonly groups: Map<string, ModelGroup>;
}

/** A name that the model rejects. */
export const BAD_NAME = 'bad';

/** Few, so that many rejected lines take several requests. */
const POSITIONS_NAMED = 2;

export class RosterModel {
  state: ModelState = { users: new Map(), groups: new Map() };

  /** Users first, then groups, all or nothing; the first step at which anything fails is the answer. */
  apply(entries: readonly Entry[]): Verdict {
    const next: ModelState = { users: new Map(this.state.users), groups: new Map(this.state.groups) };
    const changes = { users: noCounts(), groups: noCounts() };
    const failures = { missing: [] as number[], invalid: [] as number[], unknown: [] as number[] };
    for (const [position, entry] of inOrderOfApplication(entries)) {
      const item = entry.item as { id: string; name?: string; members?: string[] };
      const created = !(entry.kind === 'user' ? next.users : next.groups).has(item.id);
      if (entry.kind === 'group' && created && item.name === undefined) failures.missing.push(position);
      if (item.name === BAD_NAME) failures.invalid.push(position);
      if (entry.kind === 'group' && entry.members.some((id) => !next.users.has(id))) {
        failures.unknown.push(position);
      }
      changes[`${entry.kind}s`][write(next, entry)] += 1;
    }
    const failed = Object.entries(failures).find(([, positions]) => positions.length > 0);
    if (failed !== undefined) return rejection(failed[0], failed[1], entries);
    this.state = next;
    return { kind: 'applied', changes };
  }
}

const noCounts = () => ({ created: 0, updated: 0, unchanged: 0 });

export function sumOf(all: readonly Changes[]): Changes {
  const sum = (counts: readonly ChangeCounts[]) =>
    counts.reduce(
      (total, { created, updated, unchanged }) => ({
        created: total.created + created,
        updated: total.updated + updated,
        unchanged: total.unchanged + unchanged,
      }),
      noCounts(),
    );
  return { users: sum(all.map(({ users }) => users)), groups: sum(all.map(({ groups }) => groups)) };
}

function inOrderOfApplication(entries: readonly Entry[]): [position: number, entry: Entry][] {
  const all = [...entries.entries()];
  return [
    ...all.filter(([, { kind }]) => kind === 'user'),
    ...all.filter(([, { kind }]) => kind === 'group'),
  ];
}

function write(state: ModelState, { kind, item }: Entry): keyof ChangeCounts {
  const { id, name, members } = item as { id: string; name?: string; members?: string[] };
  if (kind === 'user') {
    const before = state.users.get(id);
    const after = name ?? before ?? '';
    state.users.set(id, after);
    return before === undefined ? 'created' : before === after ? 'unchanged' : 'updated';
  }
  const before = state.groups.get(id);
  const after = {
    name: name ?? before?.name ?? '',
    members: members === undefined ? (before?.members ?? []) : [...new Set(members)].sort(),
  };
  state.groups.set(id, after);
  if (before === undefined) return 'created';
  return JSON.stringify(before) === JSON.stringify(after) ? 'unchanged' : 'updated';
}

/** Blames the first lines that failed; where they are many, also one that may be innocent, as an ID in a message can. */
function rejection(step: string, positions: readonly number[], entries: readonly Entry[]): Verdict {
  const named = positions.slice(0, POSITIONS_NAMED);
  const stray = positions.length > POSITIONS_NAMED && entries.length > 0 ? [0] : [];
  const names = step !== 'invalid';
  return { kind: 'rejected', reason: step, blamed: names ? [...new Set([...stray, ...named])] : [] };
}
