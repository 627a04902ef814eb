/** The events of presence streams, and the text of server-sent events. */
import type { DepartureReason } from '@rollcall/protocol';
import type { PresencePosition } from '../presence/presence-store.ts';
import type { Profile } from '../store/ports/users.ts';
import type { Json } from '../values/json.ts';
import { errorBody, type PublicError } from './json-answer.ts';
import { presentProfile } from './presenters.ts';
import type { StreamEvent } from './stream-event.ts';
import { timestamp } from './timestamp.ts';

export interface ArrivedEvent {
  readonly type: 'arrived';
  readonly userId: string;
  readonly location: Json;
  /** The location that the user moved from; null for a user who was not present before. */
  readonly from: Json | null;
  /** Name and picture of the user; null where they are not shown. */
  readonly user: Profile | null;
}

export interface DepartedEvent {
  readonly type: 'departed';
  readonly userId: string;
  readonly location: Json;
  readonly reason: DepartureReason;
  /** The durable location ended, and no ephemeral one. */
  readonly isDurable: boolean;
}

/** The user's durable location, which replaces the one before. */
export interface DurableEvent {
  readonly type: 'durable';
  readonly userId: string;
  readonly location: Json;
  readonly at: number;
}

/** The data of a location where the user is; null where it has none any more. */
export interface DataEvent {
  readonly type: 'data';
  readonly userId: string;
  readonly location: Json;
  readonly data: Json | null;
}

/** Name and picture of a user who is shown. */
export interface UserEvent {
  readonly type: 'user';
  readonly userId: string;
  readonly user: Profile;
}

type PresenceEvent = ArrivedEvent | DepartedEvent | DurableEvent | DataEvent | UserEvent;

interface Entry {
  /** The offset of the group's event; several entries can have the same one. */
  readonly offset: number;
  readonly event: PresenceEvent;
}

const POSITION = /^([A-Za-z0-9_]{1,64})-(0|[1-9]\d{0,15})(?:-([0-9a-f]{1,64}))?$/;

export const positionId = ({ epoch, offset, checksum }: PresencePosition) =>
  checksum === undefined ? `${epoch}-${offset}` : `${epoch}-${offset}-${checksum}`;

/** The position that a `Last-Event-ID` names; null where it is not a position. */
export function readPositionId(id: string | undefined): PresencePosition | null {
  const [, epoch, digits, checksum] = POSITION.exec(id ?? '') ?? [];
  const offset = Number(digits);
  if (epoch === undefined || !Number.isSafeInteger(offset)) return null;
  return checksum === undefined ? { epoch, offset } : { epoch, offset, checksum };
}

/** The ID comes last, because some parsers store it when they read it, before the event is complete. */
export const eventBlock = ({ name, id, data }: StreamEvent) => `event: ${name}\ndata: ${data}\nid: ${id}\n\n`;

/**
 * The events up to the offset `to`. A reader that has received an ID has received everything up to its offset, so of several
 * events of one offset only the last one has its ID. `idAt` writes the ID of an offset.
 */
export const entryEvents = (
  entries: readonly Entry[],
  idAt: (offset: number) => string,
  to: number,
): readonly StreamEvent[] =>
  entries.map(({ event }, index) => {
    const next = entries[index + 1]?.offset ?? to + 1;
    return { name: event.type, id: idAt(next - 1), data: eventData(event) };
  });

function eventData(event: PresenceEvent): string {
  const id = `{"id":${JSON.stringify(event.userId)}`;
  if (event.type === 'user') return `${id},"user":${presentProfile(event.user)}}`;
  const start = `${id},"location":${event.location}`;
  switch (event.type) {
    case 'arrived': {
      const from = event.from === null ? '' : `,"from":${event.from}`;
      const user = event.user === null ? '' : `,"user":${presentProfile(event.user)}`;
      return `${start}${from}${user}}`;
    }
    case 'data':
      return `${start},"data":${event.data ?? 'null'}}`;
    case 'departed':
      return `${start},"reason":"${event.reason}"${event.isDurable ? ',"durable":true' : ''}}`;
    case 'durable':
      return `${start},"timestamp":"${timestamp(event.at)}"}`;
  }
}

/** The text before and after the entries of a snapshot, which are separated by commas. */
export const snapshotFrame = (id: string) => ({
  head: 'event: snapshot\ndata: {"users":[',
  tail: `]}\nid: ${id}\n\n`,
});

/** The last event of a stream. It has no ID, so that a client that reconnects resumes at the event before. */
export const errorText = (error: PublicError) => `event: error\ndata: ${errorBody(error)}\n\n`;

/** A comment; with an ID without an event where every event up to it was sent, so that the client resumes from there. */
export const heartbeatText = (id: string | null) => (id === null ? ':\n\n' : `:\nid: ${id}\n\n`);

/** How long a client waits before it reconnects, in milliseconds. */
export const retryText = (retryMs: number) => `retry: ${retryMs}\n\n`;
