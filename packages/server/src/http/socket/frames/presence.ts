/** Frames that say where the user is. */
import { Flag, Location, maybe, meaning, PresenceData, type ValidationErrors } from '@rollcall/protocol';
import { presenceChange } from '../../../core/presence/presence-change.ts';
import { inspectPresence } from '../../../core/presence/presence-rules.ts';
import { defineFrame, type RawFrame } from '../frame-definition.ts';
import { groupID, LOCATION, REGION, verifiedLogin } from './frame-parts.ts';

const location = meaning(Location, 'Where the user is.');

const present = defineFrame('present', {
  summary: 'The user is at a location while the socket is open',
  example: { ref: 5, groupID: 'analysts', location: LOCATION, exclusiveWithin: REGION },
  fields: {
    groupID,
    location,
    exclusiveWithin: meaning(
      maybe(Location),
      'A region: the user is at one location in it only, and `location` has every pair of it.',
    ),
    durable: meaning(maybe(Flag), 'Stored with its time until it is replaced.'),
    data: meaning(
      maybe(PresenceData),
      'What others see beside the location. Absent: unchanged. `null` clears it.',
    ),
  },
  rule: inspect,
  // A durable update may wait for a second.
  isAnsweredLater: ({ durable }) => durable === true,
  authorize: verifiedLogin,
  handle(frame, { writer, connection }, socket) {
    const change = presenceChange(frame, writer.group);
    return change.kind === 'durable' ? socket.putDurable(writer, change) : connection.put(writer, change);
  },
});

const absent = defineFrame('absent', {
  summary: 'This socket holds a location no longer',
  example: { ref: 6, groupID: 'analysts', location: LOCATION },
  fields: { groupID, location },
  rule: inspect,
  authorize: verifiedLogin,
  handle: (frame, { writer, connection }) =>
    connection.put(writer, presenceChange({ ...frame, absent: true }, writer.group)),
});

function inspect(frame: RawFrame, errors: ValidationErrors, group: string | null): void {
  const { groupID = group ?? undefined } = frame;
  inspectPresence(frame, errors, groupID);
}

export const presenceFrames = [present, absent];
