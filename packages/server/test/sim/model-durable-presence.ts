/** Eligibility and durable presence in the naive model. */
import type { Change } from '../../src/store/changes/changes.ts';
import type { DurableBounds } from '../../src/store/durable-bounds.ts';
import type {
  DurablePresenceOutcome,
  DurablePresenceOutcomes,
  DurablePresenceUpdate,
} from '../../src/store/ports/durable-presence.ts';
import { type Eligibility, isEligible } from '../../src/store/ports/eligibility.ts';
import type { WriteContext } from '../../src/store/write-context.ts';
import type { ModelPresence, World } from './model-world.ts';

export function eligibilityOf(world: World, groupId: string, userId: string): Eligibility {
  const group = world.groups.get(groupId);
  return {
    user: world.users.get(userId)?.status ?? null,
    group: group?.status ?? null,
    incarnation: group?.members.has(userId) === true ? (group.incarnations.get(userId) ?? 0) : null,
  };
}

export function putDurablePresence(
  world: World,
  update: DurablePresenceUpdate,
  { now }: WriteContext,
  bounds: DurableBounds,
): DurablePresenceOutcome {
  const found = eligibilityOf(world, update.groupId, update.userId);
  if (!isEligible(found)) return { kind: 'rejected', eligibility: found };
  const isOwn = (entry: DurablePresenceUpdate) =>
    entry.userId === update.userId && entry.groupId === update.groupId;
  const own = world.presence.filter(isOwn);
  const previous = own.find(({ region }) => region === update.region)?.location ?? null;
  const at = own.reduce((latest, entry) => Math.max(latest, entry.at + 1), now);
  const others = own.filter(({ region }) => region !== update.region).sort((a, b) => a.at - b.at);
  const ended: ModelPresence[] = [];
  while (others.length > 0 && exceeds([...others, update], bounds))
    ended.push(others.shift() as ModelPresence);
  world.presence = [...world.presence.filter((entry) => !isOwn(entry)), ...others, { ...update, at }];
  const { groupId: group, userId: user } = update;
  const changes: Change[] = [];
  if (previous !== update.location) changes.push({ type: 'durable_presence.moved', group, user });
  if (ended.length > 0) changes.push({ type: 'durable_presence.removed', group, user });
  const latestBefore = own.length === 0 ? null : Math.max(...own.map((entry) => entry.at));
  return { kind: 'set', previous, at, latestBefore, endedTo: ended.at(-1)?.at ?? null, changes };
}

export function putDurablePresences(
  world: World,
  updates: readonly DurablePresenceUpdate[],
  context: WriteContext,
  bounds: DurableBounds,
): DurablePresenceOutcomes {
  const outcomes = updates.map((update) => putDurablePresence(world, update, context, bounds));
  return { outcomes, changes: outcomes.flatMap((each) => (each.kind === 'set' ? each.changes : [])) };
}

function exceeds(locations: readonly DurablePresenceUpdate[], bounds: DurableBounds): boolean {
  const bytes = locations.reduce((sum, { location }) => sum + Buffer.byteLength(location), 0);
  return locations.length > bounds.locations || bytes > bounds.bytes;
}
