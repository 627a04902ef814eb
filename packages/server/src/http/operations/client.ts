/** The operations that a client token opens to a browser. */
import {
  ClientPresenceWrite,
  ConnectionId,
  exactly,
  Id,
  MemberList,
  maybe,
  meaning,
  type Static,
  Viewer,
} from '@rollcall/protocol';
import type { AuthenticatedClient } from '../../auth/client-claims.ts';
import { chunks } from '../../core/paging.ts';
import { presenceChange } from '../../core/presence/presence-change.ts';
import { inspectPresence } from '../../core/presence/presence-rules.ts';
import type { PageRequest } from '../../values/page.ts';
import { VIEWER_TAIL, viewerHead } from '../../wire/presenters.ts';
import type { Exchange } from '../exchange.ts';
import { operationsOf } from '../operation.ts';
import { listBody, pagedBody } from '../paged-list.ts';
import { PageQuery } from '../schemas.ts';
import { asViewer, isStreamRequest, STREAM_BOUND } from '../streams.ts';
import { ABSENT_EXAMPLE, doneAnswer, MEMBERS_EXAMPLE, PRESENT_EXAMPLE, USER_EXAMPLE } from './examples.ts';
import {
  checkPresenceReading,
  GroupPresenceQuery,
  PRESENCE_ANSWER,
  PRESENCE_DESCRIPTION,
  presenceList,
  readPresence,
  streamPresence,
} from './group-presence.ts';
import { membersOf } from './members.ts';
import { presenceUpdated } from './presence.ts';

export const CLIENT_TAG = {
  name: 'client',
  description:
    "What a browser may do as the user of its token, in that user's groups. Pages of other origins may call it where the operator has named them.",
};
const operation = operationsOf('client', CLIENT_TAG);

const NO_ACTIVE_GROUP =
  "The group does not exist or is set `deleted`, the token's user is not a member of it, or the token opens another one.";
/** Where the group may be named by the token, or by its older name. */
const NO_NAMED_GROUP = {
  group_not_found: NO_ACTIVE_GROUP,
  organization_not_found: 'The same, where it is named as an organization.',
};

/** All of a list, however long. */
const WHOLE = { after: null, limit: Number.POSITIVE_INFINITY };

const getViewer = operation('GET /v1/client/viewer', {
  id: 'getViewer',
  summary: "The token's user, and the active groups in which they may act",
  description:
    'The first request of a page: who is logged in, and where. `user_details` of the token are applied by the first request with it, whichever that is.',
  answer: {
    schema: Viewer,
    description: 'The user and the groups.',
    example: { user: { ...USER_EXAMPLE, metadata: {} }, groups: [{ id: 'analysts', name: 'Analysts' }] },
  },
  errors: NO_NAMED_GROUP,
  async handle(exchange, { clients }) {
    const { caller, writer } = exchange;
    const user = await clients.user(writer);
    const groups = chunks((page) => clients.listGroups(caller, page), WHOLE);
    return listBody(groups, { head: viewerHead(user), tail: () => VIEWER_TAIL });
  },
});

const listClientMembers = operation('GET /v1/client/groups/:id/members', {
  id: 'listClientGroupMembers',
  summary: "List the members of one of the user's groups, in order of ID",
  description: 'Users of either status are members.',
  query: PageQuery,
  list: { name: ({ pathId }) => membersOf(pathId) },
  answer: { schema: MemberList, description: 'A page of members.', example: MEMBERS_EXAMPLE },
  errors: { group_not_found: NO_ACTIVE_GROUP },
  async handle(exchange, { clients, memberships, pageTokens }) {
    const { caller, pathId } = exchange;
    const groupId = await clients.enter(exchange.writer, pathId);
    const read = (chunk: PageRequest) => memberships.list(caller.project, groupId, chunk);
    return pagedBody('users', exchange, pageTokens, read);
  },
});

const ClientPresenceQuery = exactly({
  groupID: meaning(maybe(Id), 'The group. Left out where the token names one.', {
    'x-example': 'analysts',
  }),
  ...GroupPresenceQuery.properties,
  connectionID: meaning(
    maybe(ConnectionId),
    'Of a stream: what this connection holds in the group is released 2 seconds after the stream has closed, unless the connection has another stream open by then.',
    { 'x-example': 'tab-1' },
  ),
});
type ClientPresenceQuery = Static<typeof ClientPresenceQuery>;

/** The ID of the group that the query names, or the token; null where neither does. */
const requestedGroup = ({ query, caller }: Exchange<AuthenticatedClient, ClientPresenceQuery>) =>
  query.groupID ?? caller.group;

const listClientPresence = operation('GET /v1/client/presence', {
  id: 'listClientPresence',
  summary: "Who is present in one of the user's groups, in order of ID",
  description: `The same as \`GET /v1/groups/{group_id}/presence\`. ${PRESENCE_DESCRIPTION}

${STREAM_BOUND}`,
  query: ClientPresenceQuery,
  list: {
    name(exchange) {
      const groupId = requestedGroup(exchange);
      return groupId === null ? null : presenceList(groupId, exchange.query);
    },
  },
  answer: PRESENCE_ANSWER,
  errors: { ...NO_NAMED_GROUP, missing_field: '`groupID` is absent, and the token names no group.' },
  rule(exchange, errors) {
    const { query, caller } = exchange;
    if (!Object.hasOwn(query, 'groupID') && caller.group === null)
      errors.missing.add('query parameter groupID', 'the ID of a group, because the token names none');
    checkPresenceReading(exchange, errors);
    if (query.connectionID !== undefined && !isStreamRequest(exchange))
      errors.invalid.add(
        'query parameter connectionID',
        'no such parameter on a reading, which holds nothing',
      );
  },
  async handle(exchange, services) {
    const { query, writer } = exchange;
    const enter = () => services.clients.enter(writer, query.groupID ?? null);
    if (!isStreamRequest(exchange)) return readPresence(services, exchange, await enter());
    const { connectionID: connection } = query;
    // The stream is counted before anything is read, so that one too many costs next to nothing.
    return asViewer(exchange, services, async (watching) =>
      streamPresence(services, exchange, await enter(), {
        ...watching,
        ...(connection !== undefined && { connection }),
      }),
    );
  },
});

const putClientPresence = operation('PUT /v1/client/presence', {
  id: 'putClientPresence',
  summary: "Set the token's user present at a location, or absent from it",
  description:
    "The same as `PUT /v1/users/{user_id}/presence`, for the token's user and in their groups only. Repeat it while the user is there.",
  body: {
    schema: ClientPresenceWrite,
    examples: { ephemeral: PRESENT_EXAMPLE, absent: ABSENT_EXAMPLE },
  },
  answer: doneAnswer('The presence was updated.', 'updated presence of user ada'),
  errors: {
    ...NO_NAMED_GROUP,
    missing_field: '`location` is absent, or the group is named neither in the request nor by the token.',
    invalid_field:
      'A field has a wrong type or value, `absent` comes with `durable`, or `location` does not have every pair of `exclusiveWithin`.',
  },
  /** The group may be left out where the token names it. */
  rule({ body, caller }, errors) {
    inspectPresence(body, errors, body.groupID ?? caller.group ?? undefined);
  },
  async handle({ writer, body }, { clients }) {
    await clients.putPresence(writer, presenceChange(body, writer.group));
    return presenceUpdated(writer.userId);
  },
});

export const clientOperations = [getViewer, listClientMembers, listClientPresence, putClientPresence];
