/** Schemas that only HTTP has: of queries, and of the error body. */
import {
  ERRORS,
  exactly,
  Flag,
  Id,
  integer,
  Location,
  limits,
  maybe,
  meaning,
  object,
  oneOf,
  type Static,
  text,
} from '@rollcall/protocol';

export const NOTHING = exactly({});

const Limit = integer({
  minimum: 1,
  maximum: limits.PAGE_MAX_LIMIT,
  description: `a whole number from 1 to ${limits.PAGE_MAX_LIMIT}`,
});

export const TOKEN_EXPECTED = 'the token of a previous page of this list';
const Token = text({ description: TOKEN_EXPECTED });

/** How a list is paged; `limit` is 1,000 unless the operation has its own default. */
export const PageQuery = exactly({
  limit: meaning(maybe(Limit), 'How many entries at most.', {
    default: limits.PAGE_DEFAULT_LIMIT,
    'x-example': 100,
  }),
  token: meaning(maybe(Token), 'Where to continue: `pagination.token` of the page before.'),
});
export type PageQuery = Static<typeof PageQuery>;

/** The same of a list that is answered whole where no limit is given. */
export const WholeListQuery = exactly({
  limit: meaning(maybe(Limit), 'How many entries at most. Absent: all of them, streamed.', {
    'x-example': 100,
  }),
  token: meaning(maybe(Token), 'Where to continue: part of the `Link` header of the page before.'),
});

export const GroupPresenceQuery = exactly({
  location: meaning(
    maybe(Location),
    'Only who is exactly there. JSON, percent-encoded. Absent: everyone who is present.',
    { 'x-example': { page: 'q3-report' } },
  ),
  partial_match: meaning(maybe(Flag), 'Also take locations that have every pair of `location`, and more.', {
    default: false,
    'x-example': true,
  }),
  exclude_durable: meaning(maybe(Flag), 'Leave durable presence out.', {
    default: false,
    'x-example': false,
  }),
  count_only: meaning(
    maybe(Flag),
    'Answer `{"count": …}`: how many all pages would list. Not together with `limit` and `token`.',
    { default: false, 'x-example': false },
  ),
  ...PageQuery.properties,
});
export type GroupPresenceQuery = Static<typeof GroupPresenceQuery>;

/** The same of a group that is in the query, and may be left out where the token names it. */
export const ClientPresenceQuery = exactly({
  groupID: meaning(maybe(Id), 'The group. Left out where the token names one.', {
    'x-example': 'analysts',
  }),
  ...GroupPresenceQuery.properties,
});
export type ClientPresenceQuery = Static<typeof ClientPresenceQuery>;

export const UserPresenceQuery = exactly({
  groupID: meaning(Id, 'The group.', { 'x-example': 'analysts' }),
});

export const BatchQuery = exactly({
  dry_run: meaning(maybe(Flag), 'Check and count, and apply nothing.', {
    default: false,
    'x-example': true,
  }),
});

export const Failure = object(
  {
    error: meaning(oneOf(Object.keys(ERRORS)), 'What went wrong, for programs: these codes do not change.'),
    message: meaning(
      text(),
      'What went wrong, for people: names the fields or IDs in question, and what is expected.',
    ),
  },
  { 'x-meaning': 'The body of every answer that is not a success.' },
);
