/** Schemas that many operations share: queries of pages, and the error body. */
import {
  ERRORS,
  exactly,
  Flag,
  Id,
  integer,
  Location,
  limits,
  list,
  maybe,
  meaning,
  object,
  oneOf,
  type Static,
  text,
  type ValidationErrors,
} from '@rollcall/protocol';

export const NOTHING = exactly({});

export const limitUpTo = (maximum: number) =>
  integer({ minimum: 1, maximum, description: `a whole number from 1 to ${maximum}` });
const Limit = limitUpTo(limits.PAGE_MAX_LIMIT);

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

/** How a query has a location. */
const LOCATION_FORMS =
  'Each pair is a parameter, such as `location[page]=intro`; or `location` is one object of JSON, percent-encoded, where keys with brackets are possible too.';

/** The filter by location of a list, of which `what` says what it filters. */
export const locationParameters = (what: string) => ({
  location: meaning(maybe(Location), `${what} ${LOCATION_FORMS}`, { 'x-example': { page: 'q3-report' } }),
  partial_match: meaning(maybe(Flag), 'Also take locations that have every pair of `location`, and more.', {
    default: false,
    'x-example': true,
  }),
});

const Ids = list(Id, {
  minItems: 1,
  maxItems: limits.LISTED_IDS_MAX,
  description: `at most ${limits.LISTED_IDS_MAX} IDs`,
});
const byIds = meaning(
  maybe(Ids),
  `Only the entries with these IDs, at most ${limits.LISTED_IDS_MAX}: \`?id=ada&id=grace\`. Those that do not exist are left out. Not together with \`limit\` and \`token\`.`,
);

export const UserListQuery = exactly({ ...PageQuery.properties, id: byIds });

/** Rejects a page of a list by ID, which has none. */
export function checkListedIds(exchange: { readonly query: object }, errors: ValidationErrors): void {
  const query = exchange.query as Readonly<Record<string, unknown>>;
  if (query.id === undefined) return;
  for (const name of ['limit', 'token'])
    if (query[name] !== undefined)
      errors.invalid.add(`query parameter ${name}`, 'no such parameter together with id');
}

/** The same of a list that is answered whole where no limit is given. */
export const WholeListQuery = exactly({
  limit: meaning(maybe(Limit), 'How many entries at most. Absent: all of them, streamed.', {
    'x-example': 100,
  }),
  token: meaning(maybe(Token), 'Where to continue: part of the `Link` header of the page before.'),
  id: byIds,
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
