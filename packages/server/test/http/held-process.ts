/** A process that holds presence of its sockets, on an engine and a clock of the test. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { pino } from 'pino';
import type { ClientWriter } from '../../src/core/caller.ts';
import type { ClientSessions } from '../../src/core/clients/client-session.ts';
import { HeldPresence } from '../../src/core/holds/held-presence.ts';
import { presenceChange } from '../../src/core/presence/presence-change.ts';
import { HoldEndedError, LeaseEndedError } from '../../src/core/presence/presence-service.ts';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import type { MovedClock } from '../support/moved-clock.ts';

export const TTL_SECONDS = 30;
export const REGION = { doc: 'd' };
export const project = 1 as ProjectKey;
export const scope = { project, groupId: 'g' };
export const writer = { project } as ClientWriter;
export const at = (page: string, data?: Record<string, unknown>) =>
  presenceChange({ location: { ...REGION, page }, exclusiveWithin: REGION, ...(data && { data }) }, 'g');

/** A process whose updates of presence are made by `putPresence`. */
export function processWith(
  presence: PresenceStore,
  clock: MovedClock,
  putPresence: ClientSessions['putPresence'],
  presenceTtlSeconds = TTL_SECONDS,
  enter: ClientSessions['enter'] = async () => 'g',
): HeldPresence {
  const clients: Pick<ClientSessions, 'putPresence' | 'enter'> = { putPresence, enter };
  const log = pino({ level: 'silent' });
  return new HeldPresence({ clients: clients as ClientSessions, presence, clock, log, presenceTtlSeconds });
}

/** Applies updates to the engine, of user `a` or of the user whom `userIdOf` names, without a check of eligibility. */
export function putInto(
  presence: PresenceStore,
  clock: MovedClock,
  userIdOf: (connection: string) => string = () => 'a',
  presenceTtlSeconds = TTL_SECONDS,
): ClientSessions['putPresence'] {
  return async (_writer, change, holder) => {
    const now = clock.now();
    const update = { ...scope, ...change, ...holder, userId: userIdOf(holder?.connection ?? ''), now };
    if (change.kind === 'absent') return void (await presence.clear(update));
    const expiresAt = now + presenceTtlSeconds * 1_000;
    const { holdEnded, leaseEnded } = await presence.set({ ...update, incarnation: 1, expiresAt });
    if (holdEnded === true) throw new HoldEndedError();
    if (leaseEnded === true) throw new LeaseEndedError();
  };
}

/** A process whose connections hold presence of user a in the engine, without a check of eligibility. */
export const processOn = (
  presence: PresenceStore,
  clock: MovedClock,
  presenceTtlSeconds = TTL_SECONDS,
): HeldPresence =>
  processWith(presence, clock, putInto(presence, clock, undefined, presenceTtlSeconds), presenceTtlSeconds);

/** Holds another location by another connection, so that the lease of the process goes on. */
export async function holdOther(held: HeldPresence, userId: string): Promise<void> {
  const other = await held.open(project, userId, 'other');
  await other.put(writer, presenceChange({ location: { other: '' } }, 'g'));
}

export async function passSeconds(
  clock: MovedClock,
  presence: PresenceStore,
  seconds: number,
): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.move(1_000);
    await presence.sweep(clock.now());
    await nextIteration();
  }
}

export async function locationsOf(presence: PresenceStore, clock: MovedClock): Promise<readonly string[]> {
  return (await presence.locationsOf({ ...scope, userId: 'a', incarnation: 1, now: clock.now() })).locations;
}
