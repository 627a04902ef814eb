import { setImmediate as nextTick } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { PresenceStore, ToldEvent } from '../presence/presence-store.ts';
import type { Departure, Effects, ProjectKey } from '../store/store.ts';
import type { Clock } from './clock.ts';
import type { RecentStandings } from './recent-standings.ts';

interface Parts {
  readonly presence: PresenceStore;
  readonly standings: RecentStandings;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Most IDs that one event names, and that one event-loop tick removes. */
const USERS_PER_EVENT = 1_000;

/**
 * Ends the presence of users where a committed write made them leave, lets no process go on taking them for members, and
 * tells those who watch whose status went over.
 * A failure is logged and not passed on: the write stands, a repeat of it would change nothing, and readings leave out
 * who may not be seen anyway.
 */
export async function afterCommit(parts: Parts, project: ProjectKey, effects: Effects): Promise<void> {
  const { presence, clock } = parts;
  const now = clock.now();
  const departures = effects.departures.map((departure) => endPresence(presence, project, departure, now));
  await settle(parts, [
    forgetStandings(parts, project, effects),
    ...departures,
    tellTurns(parts, project, effects, now),
  ]);
}

/** The group is gone for good, and all presence in it. Fails like {@link afterCommit}: not at all. */
export async function afterGroupRemoval(parts: Parts, project: ProjectKey, groupId: string): Promise<void> {
  const { presence, standings, clock } = parts;
  await settle(parts, [
    standings.changed(project, null),
    presence.removeGroup({ project, groupId }, clock.now()),
  ]);
}

/** Ends the presence of those who left a group, a part of them at a time: a replaced list may have a million. */
async function endPresence(
  presence: PresenceStore,
  project: ProjectKey,
  { groupId, userIds }: Departure,
  now: number,
): Promise<void> {
  for (let from = 0; from < userIds.length; from += USERS_PER_EVENT) {
    if (from > 0) await nextTick();
    await presence.removeUsers({ project, groupId }, userIds.slice(from, from + USERS_PER_EVENT), now);
  }
}

async function forgetStandings({ standings }: Parts, project: ProjectKey, effects: Effects): Promise<void> {
  const { departures, deactivated, deactivatedGroups } = effects;
  const departed = departures.reduce((count, { userIds }) => count + userIds.length, 0);
  if (deactivatedGroups.length > 0 || departed > USERS_PER_EVENT) return standings.changed(project, null);
  const users = new Set([...departures.flatMap(({ userIds }) => userIds), ...deactivated]);
  if (users.size > 0) await standings.changed(project, [...users]);
}

/** A user's status concerns every group that they may be in, a group's status itself; of both, only what is watched. */
async function tellTurns(
  { presence }: Parts,
  project: ProjectKey,
  effects: Effects,
  now: number,
): Promise<void> {
  const { deactivated, reactivated, deactivatedGroups, reactivatedGroups } = effects;
  if (deactivated.length + reactivated.length + deactivatedGroups.length + reactivatedGroups.length === 0)
    return;
  const watched = await presence.watchedGroups(project, now);
  const turned = new Map<string, ToldEvent>([
    ...deactivatedGroups.map((id) => [id, { type: 'group', active: false }] as const),
    ...reactivatedGroups.map((id) => [id, { type: 'group', active: true }] as const),
  ]);
  const ofUsers = [...userEvents(deactivated, false), ...userEvents(reactivated, true)];
  const told = watched.map(async (groupId) => {
    const own = turned.get(groupId);
    for (const event of own === undefined ? ofUsers : [own, ...ofUsers]) {
      await presence.tell({ project, groupId }, event, now);
    }
  });
  await Promise.all(told);
}

function userEvents(userIds: readonly string[], active: boolean): ToldEvent[] {
  const count = Math.ceil(userIds.length / USERS_PER_EVENT);
  return Array.from({ length: count }, (_, index) => ({
    type: 'users',
    userIds: userIds.slice(index * USERS_PER_EVENT, (index + 1) * USERS_PER_EVENT),
    active,
  }));
}

async function settle({ log }: Parts, work: readonly Promise<void>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).filter(({ status }) => status === 'rejected');
  const [first] = failures as PromiseRejectedResult[];
  if (first === undefined) return;
  // A user may leave thousands of groups at once: one line says it for all.
  const details = { err: first.reason, failures: failures.length };
  log.error(details, 'presence was not brought up to date with a write');
}
