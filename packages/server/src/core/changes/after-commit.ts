import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Broker } from '../../broker/broker.ts';
import { failuresOf } from '../../concurrency/failures-of.ts';
import type { PresenceStore } from '../../presence/presence-store.ts';
import { type Change, changesProfile } from '../../store/changes/changes.ts';
import type { Store } from '../../store/store.ts';
import { isPacked, unpackIds } from '../../store/worker-threads/packed-ids.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import type { Clock } from '../clock.ts';
import type { EligibilityCache } from '../eligibility-cache.ts';
import { publish } from '../publish.ts';

export interface FollowUpParts {
  readonly store: Pick<Store, 'eligibility'>;
  readonly broker: Broker;
  readonly presence: PresenceStore;
  readonly eligibility: EligibilityCache;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Most IDs that one event names. */
const USERS_PER_EVENT = 1_000;
/** Of more users, it is not looked up in which watched groups they are. */
const USERS_READ_MAX = 100;
/** Groups that one user, or several, have left. */
const DEPARTURES_AT_ONCE = 200;
/** Pairs of group and user of one statement. */
const PAIRS_AT_ONCE = 1_000;

type Departure = Change & { readonly type: 'member.removed' };

interface StatusChange {
  readonly id: string;
  readonly active: boolean;
}

/** The changes of a write that concern presence. */
interface Consequences {
  /** Users who stopped being members, in parts. A group that was removed loses all of its presence at once. */
  readonly departures: Departure[];
  readonly removedGroups: Set<string>;
  readonly users: StatusChange[];
  readonly groups: StatusChange[];
}

function consequencesOf(changes: readonly Change[]): Consequences {
  const found: Consequences = { departures: [], removedGroups: new Set(), users: [], groups: [] };
  for (const [index, change] of changes.entries()) {
    const before = changes[index - 1];
    switch (change.type) {
      case 'member.removed':
        found.departures.push(change as Departure);
        break;
      case 'group.removed':
        found.removedGroups.add(change.group);
        break;
      // A user or group that was created deleted has no presence to hide.
      case 'user.deactivated':
      case 'user.activated':
        if (before?.type !== 'user.created' || before.user !== change.user)
          found.users.push({ id: change.user, active: change.type === 'user.activated' });
        break;
      case 'group.deactivated':
      case 'group.activated':
        if (before?.type !== 'group.created' || before.group !== change.group)
          found.groups.push({ id: change.group, active: change.type === 'group.activated' });
        break;
    }
  }
  return found;
}

/**
 * Follows up a committed write: ends presence of users who are no longer members, invalidates cached eligibility, and
 * publishes changes of status to streams. Never rejects: the write is committed, and repeating it would change nothing. A failure is
 * logged; readings leave out users who may not be seen anyway.
 */
export async function afterCommit(
  parts: FollowUpParts,
  project: ProjectKey,
  changes: readonly Change[],
): Promise<void> {
  publishConversation(parts, project, changes);
  publishProfiles(parts, project, changes);
  const found = consequencesOf(changes);
  const { removedGroups, users, groups } = found;
  if (found.departures.length + removedGroups.size + users.length + groups.length === 0) return;
  const { presence, clock } = parts;
  const now = clock.now();
  const departures = found.departures.filter(({ group }) => !removedGroups.has(group));
  const large = departures.filter((departure) => isPacked(departure.users));
  const small = departures.filter((departure) => !isPacked(departure.users));
  const endPresence = ({ group, users }: Departure) =>
    presence.removeUsers({ project, groupId: group }, unpackIds(users), now);
  await allDone(parts, [
    invalidateEligibility(parts, project, found),
    endInTicks(small, DEPARTURES_AT_ONCE, endPresence),
    endInTicks(large, 1, endPresence),
    ...[...removedGroups].map((groupId) => presence.removeGroup({ project, groupId }, now)),
    publishStatuses(parts, project, found, now),
  ]);
}

/** Publishes which thread a write has changed. Not awaited: streams that miss it read the store again within seconds. */
function publishConversation(
  { broker }: FollowUpParts,
  project: ProjectKey,
  changes: readonly Change[],
): void {
  const changed = changes.find((change) => 'thread' in change);
  if (changed === undefined) return;
  const { group: groupId, thread: threadId, type } = changed;
  void publish(broker, {
    ...{ type: 'conversation', project, groupId, threadId },
    ...(type === 'message.appended' && { only: 'messages' }),
  });
}

/** Not awaited: a stream that misses it reads the record. */
function publishProfiles({ broker }: FollowUpParts, project: ProjectKey, changes: readonly Change[]): void {
  const ids = changes.filter(changesProfile).map(({ user }) => user);
  for (const userIds of slices(ids, USERS_PER_EVENT))
    void publish(broker, { type: 'profiles', project, userIds });
}

/**
 * So many departures in each event-loop tick: a replaced member list may have a million users, and a user who is removed may leave
 * as many groups. Where all of a tick fail, the others are left: each tick would wait for what does not answer.
 * @throws AggregateError
 */
async function endInTicks(
  departures: readonly Departure[],
  atOnce: number,
  end: (departure: Departure) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const some of slices(departures, atOnce)) {
    const failed = failuresOf(await Promise.allSettled(some.map(end)));
    errors.push(...failed);
    if (failed.length === some.length) break;
    await nextIteration();
  }
  if (errors.length > 0) throw new AggregateError(errors);
}

async function invalidateEligibility(
  { eligibility }: FollowUpParts,
  project: ProjectKey,
  { departures, removedGroups, users, groups }: Consequences,
): Promise<void> {
  const isLarge = departures.some((departure) => isPacked(departure.users));
  if (removedGroups.size > 0 || groups.some(({ active }) => !active) || isLarge)
    return eligibility.invalidate(project, null);
  const deactivated = users.filter(({ active }) => !active).map(({ id }) => id);
  const ended = new Set([...departures.flatMap((departure) => unpackIds(departure.users)), ...deactivated]);
  if (ended.size > 0) await eligibility.invalidate(project, [...ended]);
}

/** A group's status concerns the group, a user's status every group of the user. Only watched groups get events. */
async function publishStatuses(
  parts: FollowUpParts,
  project: ProjectKey,
  { users, groups }: Consequences,
  now: number,
): Promise<void> {
  if (users.length + groups.length === 0) return;
  const { presence } = parts;
  const watched = await presence.watchedGroups(project, now);
  const changed = new Set(groups.map(({ id }) => id));
  const ofUsers = await watchedGroupsOf(parts, project, users, watched);
  const published = watched.map(async (groupId) => {
    if (changed.has(groupId)) await presence.publish({ project, groupId }, { type: 'group' }, now);
    const ids = (ofUsers.get(groupId) ?? []).map(({ id }) => id);
    for (const userIds of slices(ids, USERS_PER_EVENT))
      await presence.publish({ project, groupId }, { type: 'users', userIds }, now);
  });
  await Promise.all(published);
}

/** Which watched groups have these users as members; where there are very many users, all of the groups are taken to. */
async function watchedGroupsOf(
  { store }: FollowUpParts,
  project: ProjectKey,
  users: readonly StatusChange[],
  watched: readonly string[],
): Promise<ReadonlyMap<string, readonly StatusChange[]>> {
  const pairs =
    users.length > USERS_READ_MAX
      ? []
      : watched.flatMap((groupId) => users.map((user) => ({ groupId, userId: user.id, ...user })));
  if (pairs.length === 0) return new Map(watched.map((groupId) => [groupId, users]));
  const found: typeof pairs = [];
  for (const some of slices(pairs, PAIRS_AT_ONCE)) {
    const eligibility = await store.eligibility.findMany(project, some);
    found.push(...some.filter((_, index) => eligibility[index]?.incarnation !== null));
  }
  return Map.groupBy(found, ({ groupId }) => groupId);
}

async function allDone({ log }: FollowUpParts, work: readonly Promise<void>[]): Promise<void> {
  const errors = failuresOf(await Promise.allSettled(work)).flatMap((error) =>
    error instanceof AggregateError ? (error.errors as unknown[]) : [error],
  );
  if (errors.length === 0) return;
  // One log line for all: a user may leave thousands of groups at once.
  const details = { err: errors[0], failures: errors.length };
  log.error(details, 'presence could not be updated after a write; readings leave out who may not be seen');
}
