/** The naive batch: it is parsed, its errors are collected step by step, and then it is applied item by item. */

import {
  Batch,
  type ChangeCounts,
  type GroupItem,
  JsonObjectError,
  parseJsonObject,
  type UserItem,
  ValidationErrors,
  validator,
} from '@rollcall/protocol';
import type { BatchOutcome, BatchRequest, UnknownReference } from '../../src/store/ports/batches.ts';
import { toStored } from '../../src/store/stored-write.ts';
import type { ConditionalContext } from '../../src/store/write-context.ts';
import { BY_TEST } from '../support/origin.ts';
import { copyWorld } from './model-copies.ts';
import { changesBetween, unknownAmong, type World, writeGroup, writeUser } from './model-world.ts';

const validateBatch = validator(Batch);

interface Items {
  readonly users: readonly UserItem[];
  readonly groups: readonly GroupItem[];
}

export function applyBatch(world: World, batch: BatchRequest, context: ConditionalContext): BatchOutcome {
  let body: Record<string, unknown>;
  try {
    body = parseJsonObject(batch.body);
  } catch (error) {
    if (error instanceof JsonObjectError) return { kind: 'malformed', message: error.message };
    throw error;
  }
  const errors = new ValidationErrors();
  validateBatch(body, errors);
  findNameless(world, body.groups, errors);
  if (!errors.clean) return { kind: 'invalid', errors };
  const items: Items = { users: [], groups: [], ...body };
  const references = unknownReferences(world, items);
  if (references.length > 0)
    return { kind: 'unknownUsers', references: references.slice(0, 20), count: references.length };
  return { kind: 'applied', ...applyItems(world, items, batch.dryRun, context) };
}

/** A group has no name where neither the store nor an earlier item has the group, and the item itself has no name. */
function findNameless(world: World, groups: unknown, errors: ValidationErrors): void {
  if (!Array.isArray(groups)) return;
  const known = new Set(world.groups.keys());
  for (const [index, item] of groups.entries()) {
    if (typeof item?.id !== 'string' || known.has(item.id)) continue;
    if (item.name === undefined) errors.missing.add(`groups[${index}].name`, 'a name');
    else known.add(item.id);
  }
}

function unknownReferences(world: World, { users, groups }: Items): UnknownReference[] {
  const draft = copyWorld(world);
  for (const { id, ...write } of users)
    writeUser(draft, id, toStored(write), { now: 0, revision: '', ...BY_TEST });
  return groups.flatMap(({ members = [] }, index) => {
    const unknown = unknownAmong(draft, members);
    return unknown === null ? [] : [{ path: `groups[${index}].members`, users: unknown }];
  });
}

function applyItems(world: World, items: Items, dryRun: boolean, context: ConditionalContext) {
  const draft = copyWorld(world);
  const users = tally(items.users.map(({ id, ...write }) => writeUser(draft, id, toStored(write), context)));
  const groups = tally(
    items.groups.map(({ id, ...write }) => writeGroup(draft, id, toStored(write), context.revision)),
  );
  const isRejoined = (groupId: string, userId: string) =>
    items.groups.some(({ id, members }) => id === groupId && members?.includes(userId) === false);
  const changes = dryRun ? [] : changesBetween(world, draft, isRejoined);
  if (!dryRun) Object.assign(world, draft);
  return { users, groups, changes };
}

function tally(kinds: readonly (keyof ChangeCounts)[]): ChangeCounts {
  const counts = { created: 0, updated: 0, unchanged: 0 };
  for (const kind of kinds) counts[kind] += 1;
  return counts;
}
