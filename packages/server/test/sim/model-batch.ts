/** The batch, naively: read it, collect what is wrong step by step, and only then apply it item by item. */
import {
  Batch,
  type ChangeCounts,
  Findings,
  type GroupItem,
  inspector,
  JsonObjectError,
  parseJsonObject,
  type UserItem,
} from '@rollcall/protocol';
import type { BatchOutcome, BatchRequest, UnknownReference, WriteContext } from '../../src/store/store.ts';
import { copyWorld, effectsBetween, unknownAmong, type World, writeGroup, writeUser } from './model-world.ts';

const inspectBatch = inspector(Batch);

interface Items {
  readonly users: readonly UserItem[];
  readonly groups: readonly GroupItem[];
}

export function applyBatch(world: World, batch: BatchRequest, context: WriteContext): BatchOutcome {
  let body: Record<string, unknown>;
  try {
    body = parseJsonObject(batch.body);
  } catch (error) {
    if (error instanceof JsonObjectError) return { kind: 'malformed', message: error.message };
    throw error;
  }
  const findings = new Findings();
  inspectBatch(body, findings);
  findNameless(world, body.groups, findings);
  if (!findings.clean) return { kind: 'misfit', findings };
  const items: Items = { users: [], groups: [], ...body };
  const references = unknownReferences(world, items);
  if (references.length > 0)
    return { kind: 'unknownUsers', references: references.slice(0, 20), count: references.length };
  return { kind: 'applied', ...applyItems(world, items, batch.dryRun, context) };
}

/** A group is nameless where neither the store nor an item before it has it, and it brings no name itself. */
function findNameless(world: World, groups: unknown, findings: Findings): void {
  if (!Array.isArray(groups)) return;
  const known = new Set(world.groups.keys());
  for (const [index, item] of groups.entries()) {
    if (typeof item?.id !== 'string' || known.has(item.id)) continue;
    if (item.name === undefined) findings.missing.add(`groups[${index}].name`, 'a name');
    else known.add(item.id);
  }
}

function unknownReferences(world: World, { users, groups }: Items): UnknownReference[] {
  const draft = copyWorld(world);
  for (const { id, ...write } of users) writeUser(draft, id, write, { now: 0, revision: '' });
  return groups.flatMap(({ members = [] }, index) => {
    const unknown = unknownAmong(draft, members);
    return unknown === null ? [] : [{ place: `groups[${index}].members`, users: unknown }];
  });
}

function applyItems(world: World, items: Items, dryRun: boolean, context: WriteContext) {
  const draft = copyWorld(world);
  const users = tally(items.users.map(({ id, ...write }) => writeUser(draft, id, write, context)));
  const groups = tally(
    items.groups.map(({ id, ...write }) => writeGroup(draft, id, write, context.revision)),
  );
  const effects = effectsBetween(world, dryRun ? world : draft);
  if (!dryRun) Object.assign(world, draft);
  return { users, groups, effects };
}

function tally(kinds: readonly (keyof ChangeCounts)[]): ChangeCounts {
  const counts = { created: 0, updated: 0, unchanged: 0 };
  for (const kind of kinds) counts[kind] += 1;
  return counts;
}
