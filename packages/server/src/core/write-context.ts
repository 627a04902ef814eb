import type { Precondition, WriteContext } from '../store/store.ts';
import type { Clock } from './clock.ts';
import { newRevision } from './revision.ts';

/** What a write is given besides its content: the time, a revision of its own, and what the caller requires. */
export function writeContext(clock: Clock, precondition: Precondition = {}): WriteContext {
  return { ...precondition, now: clock.now(), revision: newRevision() };
}
