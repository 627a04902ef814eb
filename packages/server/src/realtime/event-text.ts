/** Server-Sent Events as text: what goes out on a presence stream. */
import type { ServiceError } from '../core/service-error.ts';
import { errorBody } from '../http/answer.ts';
import type { PresencePosition } from '../presence/presence-store.ts';
import type { Entry, ReaderEvent } from './reader-event.ts';

const POSITION = /^([A-Za-z0-9_]{1,64})-(0|[1-9]\d{0,15})(?:-([0-9a-f]{1,64}))?$/;

/** A position as the `id` of an event. */
export const positionId = ({ epoch, offset, checksum }: PresencePosition) =>
  checksum === undefined ? `${epoch}-${offset}` : `${epoch}-${offset}-${checksum}`;

/** The position that a `Last-Event-ID` names; null where it is none of ours. */
export function readPositionId(id: string | undefined): PresencePosition | null {
  const [, epoch, digits, checksum] = POSITION.exec(id ?? '') ?? [];
  const offset = Number(digits);
  if (epoch === undefined || !Number.isSafeInteger(offset)) return null;
  return checksum === undefined ? { epoch, offset } : { epoch, offset, checksum };
}

/** The ID comes last: some readers take it where they read it, and do not have all of the event before. */
const block = (name: string, id: string, data: string) => `event: ${name}\ndata: ${data}\nid: ${id}\n\n`;

/**
 * The events up to the offset `to`. The ID of each is how far a reader who has taken it knows all: where several come of
 * one offset, only the last of them names it. `idAt` writes the ID of an offset.
 */
export function entriesText(entries: readonly Entry[], idAt: (offset: number) => string, to: number): string {
  let text = '';
  for (const [index, { event }] of entries.entries()) {
    const next = entries[index + 1]?.offset ?? to + 1;
    text += block(event.type, idAt(next - 1), eventData(event));
  }
  return text;
}

function eventData(event: ReaderEvent): string {
  const who = `{"id":${JSON.stringify(event.userId)},"location":${event.location}`;
  switch (event.type) {
    case 'arrived':
      return event.from === null ? `${who}}` : `${who},"from":${event.from}}`;
    case 'departed':
      return `${who},"reason":"${event.reason}"${event.isDurable ? ',"durable":true' : ''}}`;
    case 'durable':
      return `${who},"timestamp":"${new Date(event.at).toISOString()}"}`;
  }
}

/** What comes before and after the entries of a snapshot, which are separated by commas. */
export const snapshotFrame = (id: string) => ({
  head: 'event: snapshot\ndata: {"users":[',
  tail: `]}\nid: ${id}\n\n`,
});

/** The last event of a stream. It has no ID: whoever comes back goes on where they were. */
export const errorText = ({ code, message }: ServiceError) =>
  `event: error\ndata: ${errorBody(code, message)}\n\n`;

/** A comment, and where all is told, an ID without an event: who was told nothing knows how far they have come. */
export const heartbeatText = (id: string | null) => (id === null ? ':\n\n' : `:\nid: ${id}\n\n`);

/** How long a reader waits before it comes back, in milliseconds. */
export const retryText = (retryMs: number) => `retry: ${retryMs}\n\n`;
