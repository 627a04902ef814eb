/** Schemas that many operations share: queries of pages, and the error body. */
import {
  ERRORS,
  exactly,
  integer,
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
