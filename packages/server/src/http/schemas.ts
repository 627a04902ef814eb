/** Schemas of what only HTTP has: paths, queries, and the answers that every endpoint shares. */
import {
  ERRORS,
  exactly,
  Flag,
  Id,
  integer,
  Location,
  limits,
  maybe,
  object,
  oneOf,
  PresenceCount,
  PresenceList,
  type Static,
  text,
} from '@rollcall/protocol';

export const NOTHING = exactly({});

export const IdInPath = exactly({ id: Id });

const Limit = integer({
  minimum: 1,
  maximum: limits.PAGE_MAX_LIMIT,
  description: `a whole number from 1 to ${limits.PAGE_MAX_LIMIT}`,
});

export const TOKEN_EXPECTED = 'the token of a previous page of this list';
const Token = text({ description: TOKEN_EXPECTED });

/** How a list is paged; `limit` is 1,000 unless the endpoint says otherwise. */
export const PageQuery = exactly({ limit: maybe(Limit), token: maybe(Token) });
export type PageQuery = { limit?: number; token?: string };

export const GroupPresenceQuery = exactly({
  location: maybe(Location),
  partial_match: maybe(Flag),
  exclude_durable: maybe(Flag),
  count_only: maybe(Flag),
  limit: maybe(Limit),
  token: maybe(Token),
});
export type GroupPresenceQuery = Static<typeof GroupPresenceQuery>;

/** The same of a group that is in the query, and may be left out where the token names it. */
export const ClientPresenceQuery = exactly({ groupID: maybe(Id), ...GroupPresenceQuery.properties });
export type ClientPresenceQuery = Static<typeof ClientPresenceQuery>;

export const UserPresenceQuery = exactly({ groupID: Id });

export const BatchQuery = exactly({ dry_run: maybe(Flag) });

export const Failure = object({
  error: oneOf(Object.keys(ERRORS), { description: 'a code of the error vocabulary' }),
  message: text({ description: 'an explanation; names the fields or IDs in question' }),
});

/** A reading of a group's presence: a page or a count, or who is there and what changes from then on. */
export const PRESENCE_READING = {
  content: {
    'application/json': { schema: { anyOf: [PresenceList, PresenceCount] } },
    'text/event-stream': { schema: text() },
  },
};

/** The answers of an endpoint: its own success, and failures in one shape. */
export const answers = (success: object, status = 200) => ({
  [status]: success,
  '4xx': Failure,
  '5xx': Failure,
});
