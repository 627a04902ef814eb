/** What a connection held on another process, when taking it over meets a failure or a renewal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import type { ClientWriter } from '../../src/core/caller.ts';
import type { ClientSessions } from '../../src/core/clients/client-session.ts';
import { HeldPresence } from '../../src/core/holds/held-presence.ts';
import { presenceChange } from '../../src/core/presence/presence-change.ts';
import { HoldEndedError, LeaseEndedError } from '../../src/core/presence/presence-service.ts';
import { logIn, type VerifiedLogin } from '../../src/http/socket/socket-login.ts';
import type { SocketParts } from '../../src/http/socket/socket-parts.ts';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { closing } from '../support/closing.ts';
import { MovedClock } from '../support/moved-clock.ts';

const TTL_SECONDS = 30;
const project = 1 as ProjectKey;
const writer = { project, userId: 'a' } as ClientWriter;
const at = (page: string) => presenceChange({ location: { page } }, 'g');

/** Presence that several processes share. */
function sharedPresence(): PresenceStore {
  return Object.defineProperty(createMemoryPresence(), 'isInProcess', { value: false });
}

/** A process in whose only group `g` everybody may be present. */
function processOn(presence: PresenceStore, clock: MovedClock): HeldPresence {
  const clients = {
    listGroups: async () => ({ items: '{"id":"g"}', count: 1, last: null }),
    enter: async () => 'g',
    async putPresence(_writer: unknown, change: ReturnType<typeof at>, holder: object) {
      const now = clock.now();
      const update = { project, userId: 'a', incarnation: 1, now, expiresAt: now + TTL_SECONDS * 1_000 };
      const { leaseEnded, holdEnded } = await presence.set({ ...update, ...change, ...holder });
      if (leaseEnded === true) throw new LeaseEndedError();
      if (holdEnded === true) throw new HoldEndedError();
    },
  } as unknown as ClientSessions;
  const log = pino({ level: 'silent' });
  return new HeldPresence({ clients, presence, clock, log, presenceTtlSeconds: TTL_SECONDS });
}

/** The locations of the connection that belong to a lease, or did. */
const heldBy = async (presence: PresenceStore, connection: string, clock: MovedClock) =>
  (await presence.holdsOf({ project, groupId: 'g', userId: 'a', connection, now: clock.now() })).map(
    ({ location }) => location,
  );

test('a connection is taken over by a process whose own lease has ended meanwhile', async () => {
  const presence = sharedPresence();
  const [clock, frozen] = [new MovedClock(), new MovedClock()];
  await using before = closing(processOn(presence, clock));
  await using after = closing(processOn(presence, frozen));
  await (await after.open(project, 'a', 'busy')).put(writer, at('2'));
  for (const moved of [clock, frozen]) moved.jump((TTL_SECONDS + 10) * 1_000);
  const old = await before.open(project, 'a', 'page');
  await old.put(writer, at('1'));
  await after.takeOver(await after.open(project, 'a', 'page'), writer);
  await old.close(0);
  assert.deepEqual(await heldBy(presence, 'page', clock), [at('1').location]);
});

test('a renewal while a connection is taken over does not forget what it held', async () => {
  const presence = sharedPresence();
  const clock = new MovedClock();
  await using before = closing(processOn(presence, clock));
  await using after = closing(processOn(presence, clock));
  const old = await before.open(project, 'a', 'page');
  await old.put(writer, at('1'));
  const watch = presence.watch.bind(presence);
  presence.watch = async (...args) => {
    const watched = await watch(...args);
    // The holds are set when the group is watched: an event of another caller's release comes just then.
    args[2].onEvent(watched.position.offset, { type: 'releasing', userId: 'a', connection: 'page' } as never);
    return watched;
  };
  await after.takeOver(await after.open(project, 'a', 'page'), writer);
  await old.close(0);
  assert.deepEqual(await heldBy(presence, 'page', clock), [at('1').location]);
});

test('a login that fails while it takes over leaves no connection open, whose locations would be held for ever', async () => {
  const presence = sharedPresence();
  const clock = new MovedClock();
  await using held = closing(processOn(presence, clock));
  const socket = await held.open(project, 'a', 'page');
  await socket.put(writer, at('1'));
  presence.holdsOf = () => Promise.reject(new Error('an error that nobody expects'));
  const services = {
    clients: { user: async () => ({}) },
    streams: { permits: { take: () => ({ release() {} }) } },
    heldPresence: held,
  };
  const parts = { services, countFrame() {} } as unknown as SocketParts<never>;
  await assert.rejects(logIn(parts, 'page', { writer } as VerifiedLogin, null), /nobody expects/);
  await socket.close(0);
  assert.equal(socket.isGone(clock.now() + 2_000), true);
});
