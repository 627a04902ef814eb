import type { Logger } from 'pino';
import type { PresenceStore } from '../presence/presence-store.ts';
import type { Departure, ProjectKey } from '../store/store.ts';

/**
 * Ends the presence of users where a committed write made them leave. A failure is logged and not passed on: the write
 * stands, a repeat of it would change nothing, and readings leave out who is no member anyway until the presence expires.
 */
export async function endPresence(
  presence: PresenceStore,
  log: Logger,
  project: ProjectKey,
  departures: readonly Departure[],
): Promise<void> {
  const ends = departures.map(({ groupId, userIds }) => presence.removeUsers({ project, groupId }, userIds));
  for (const end of await Promise.allSettled(ends)) {
    if (end.status === 'rejected')
      log.error({ err: end.reason }, 'presence after a departure was not cleared');
  }
}
