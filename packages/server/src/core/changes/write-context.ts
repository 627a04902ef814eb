import type { Precondition } from '../../store/precondition.ts';
import type { ConditionalContext, Origin } from '../../store/write-context.ts';
import type { Clock } from '../clock.ts';
import { newRevision } from '../revision.ts';

/** The context of a write besides its content: the time, a revision of its own, its origin, and what the caller requires. */
export function writeContext(
  clock: Pick<Clock, 'now'>,
  { actor, requestId }: Origin,
  precondition: Precondition = {},
): ConditionalContext {
  return { ...precondition, now: clock.now(), revision: newRevision(), actor, requestId };
}
