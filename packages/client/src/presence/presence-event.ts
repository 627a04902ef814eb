import type { ArrivedEvent, DepartedEvent, DurableEvent, SnapshotEvent } from '../protocol.ts';
import { RollcallError, type RollcallErrorCode, refusalIn } from '../rollcall-error.ts';
import type { StreamEvent } from './event-stream.ts';

/** Everybody who is present, as far as the filter lets see. First, and again where what was missed is not kept any more. */
export type PresenceSnapshot = { readonly type: 'snapshot' } & SnapshotEvent;
/** A user (`id`) is at a location, and no longer at `from` where that is given. */
export type PresenceArrived = { readonly type: 'arrived' } & ArrivedEvent;
/**
 * A user (`id`) is at a location no more; where it says `durable`, it is their durable place that is none any more.
 * `moved`: to where the filter does not look; `removed`: they are not to be seen at all, or it
 * was the oldest of too many durable locations.
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
 * Reads an event of the stream; null for one of a kind that this version does not know.
 * @throws RollcallError the one that the server ends the stream with; `network` for what is no JSON
 */
export function presenceEvent({ type, data }: StreamEvent): PresenceEvent | null {
  if (type === 'error') throw errorIn(data);
  if (!TYPES.has(type)) return null;
  try {
    return { ...JSON.parse(data), type };
  } catch (cause) {
    throw new RollcallError('network', 'the stream is not readable', { cause });
  }
}

function errorIn(data: string): RollcallError {
  const { error = 'error', message = 'the server ended the stream' } = refusalIn(data);
  return new RollcallError(error as RollcallErrorCode, message);
}
