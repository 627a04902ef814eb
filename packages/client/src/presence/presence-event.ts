import type { ArrivedEvent, DepartedEvent, DurableEvent, SnapshotEvent } from '../protocol.ts';
import { errorBodyIn, RollcallError, type RollcallErrorCode } from '../rollcall-error.ts';
import type { StreamEvent } from './event-stream.ts';

/** All present users that match the filter. The first event, and sent again when the missed events are no longer stored. */
export type PresenceSnapshot = { readonly type: 'snapshot' } & SnapshotEvent;
/** A user (`id`) is at a location; with `from`, they moved there from that location. */
export type PresenceArrived = { readonly type: 'arrived' } & ArrivedEvent;
/**
 * A user (`id`) is no longer at a location; with `durable`, their durable location ended. `moved`: to a location that the
 * filter hides. `removed`: the user, group or membership ended, or the location was the oldest of too many durable ones.
 */
export type PresenceDeparted = { readonly type: 'departed' } & DepartedEvent;
/** The latest durable location of a user (`id`). */
export type PresenceDurable = { readonly type: 'durable' } & DurableEvent;

export type PresenceEvent = PresenceSnapshot | PresenceArrived | PresenceDeparted | PresenceDurable;

const TYPES: ReadonlySet<string> = new Set<PresenceEvent['type']>([
  'snapshot',
  'arrived',
  'departed',
  'durable',
]);

/**
 * Parses an event of the stream; null for a type that this version does not know.
 * @throws RollcallError the error with which the server ends the stream; `network` for invalid JSON
 */
export function presenceEvent({ type, data }: StreamEvent): PresenceEvent | null {
  if (type === 'error') throw errorIn(data);
  if (!TYPES.has(type)) return null;
  try {
    return { ...JSON.parse(data), type };
  } catch (cause) {
    throw new RollcallError('network', 'the event is not JSON', { cause });
  }
}

function errorIn(data: string): RollcallError {
  const { error = 'error', message = 'the server ended the stream' } = errorBodyIn(data);
  return new RollcallError(error as RollcallErrorCode, message);
}
