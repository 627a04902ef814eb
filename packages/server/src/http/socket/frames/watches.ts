/** Frames that open watches, and the one that ends them. */
import {
  CLIENT_MESSAGE_EVENTS,
  CLIENT_THREAD_EVENTS,
  Expand,
  Flag,
  Id,
  integer,
  Location,
  maybe,
  meaning,
  number,
  PRESENCE_EVENTS,
  text,
  type ValidationErrors,
} from '@rollcall/protocol';
import { readEventId } from '../../../wire/conversation-events.ts';
import { readPositionId } from '../../../wire/event-text.ts';
import { filterOf } from '../../parameters/presence-filter.ts';
import { threadFilter, threadListName } from '../../parameters/thread-filter.ts';
import { defineFrame, type RawFrame } from '../frame-definition.ts';
import { groupID, REGION, verifiedLogin } from './frame-parts.ts';

const after = meaning(
  maybe(text({ description: 'the id of an event' })),
  'The ID of the last event that the client has: the watch goes on after it where it can.',
);
const partialMatch = meaning(maybe(Flag), 'Also locations that have every pair of `location`, and more.');

const watch = defineFrame('watch', {
  summary: "Watch the presence of one of the user's groups",
  example: { ref: 2, groupID: 'analysts', location: REGION, partial_match: true },
  fields: {
    groupID,
    location: meaning(maybe(Location), 'Only who is exactly there.'),
    partial_match: partialMatch,
    exclude_durable: meaning(maybe(Flag), 'Leave durable presence out.'),
    expand: meaning(maybe(Expand), 'What to show beside locations: `data`, `user`, or both.'),
    after,
  },
  events: PRESENCE_EVENTS,
  rule: requireGroup,
  authorize: verifiedLogin,
  handle: (frame, { writer }, { watches, services: { clients, streams } }) =>
    watches.open(writer, frame, {
      enter: () => clients.enter(writer, frame.groupID ?? null),
      start: (watching) =>
        streams.open(Object.assign(watching, { filter: filterOf(frame) }), readPositionId(frame.after)),
    }),
});

const watchMessages = defineFrame('watch_messages', {
  summary: 'Watch the messages of a thread',
  example: { ref: 4, threadID: 'launch', limit: 20 },
  fields: {
    threadID: meaning(Id, 'The thread.'),
    limit: meaning(
      maybe(integer({ minimum: 1, maximum: 1_000, description: 'a whole number from 1 to 1000' })),
      'How many messages the snapshot has at most.',
    ),
    after,
  },
  events: CLIENT_MESSAGE_EVENTS,
  authorize: verifiedLogin,
  handle: (frame, { writer }, { watches, services: { conversation, conversationStreams } }) =>
    watches.open(writer, frame, {
      enter: async () => (await conversation.findThread(writer, frame.threadID)).groupId,
      start(watching) {
        const request = Object.assign(watching, { snapshotLimit: frame.limit });
        return conversationStreams.openMessages(request, frame.threadID, readEventId(frame.after));
      },
    }),
});

const watchThreads = defineFrame('watch_threads', {
  summary: "Watch the threads of one of the user's groups",
  example: { ref: 3, groupID: 'analysts', resolved: false },
  fields: {
    groupID,
    location: meaning(maybe(Location), 'Only threads about exactly this.'),
    partial_match: partialMatch,
    resolved: meaning(maybe(Flag), 'Only threads that are resolved, or (false) that are not.'),
    after,
  },
  events: CLIENT_THREAD_EVENTS,
  rule: requireGroup,
  authorize: verifiedLogin,
  handle: (frame, { writer }, { watches, services: { conversation, conversationStreams } }) =>
    watches.open(writer, frame, {
      enter: () => conversation.enterGroup(writer, frame.groupID ?? null),
      start(watching) {
        const { groupId } = watching;
        const list = [writer.project, ...(threadListName(frame, groupId) ?? [])];
        const filter = threadFilter(frame, groupId);
        return conversationStreams.openThreads(watching, filter, list, readEventId(frame.after));
      },
    }),
});

const unwatch = defineFrame('unwatch', {
  summary: 'End a watch',
  example: { ref: 7, watch: 2 },
  fields: { watch: meaning(number({ description: 'the ref of a watch' }), 'The watch that ends.') },
  authorize: verifiedLogin,
  async handle(frame, _login, { watches }) {
    watches.close(frame.watch);
  },
});

function requireGroup({ groupID }: RawFrame, errors: ValidationErrors, group: string | null): void {
  if (groupID === undefined && group === null)
    errors.missing.add('groupID', 'the ID of a group, because the token names none');
}

export const watchFrames = [watch, watchMessages, watchThreads, unwatch];
