/** Schemas of what only HTTP has: paths, queries, and the answers that every endpoint shares. */
import { ERRORS, Flag, Id, Location, limits } from '@rollcall/protocol';
import Type from 'typebox';

export const NOTHING = Type.Object({}, { additionalProperties: false });

export const IdInPath = Type.Object({ id: Id }, { additionalProperties: false });

const Limit = Type.Integer({
  minimum: 1,
  maximum: limits.PAGE_MAX_LIMIT,
  description: `a whole number from 1 to ${limits.PAGE_MAX_LIMIT}`,
});

export const TOKEN_EXPECTED = 'the token of a previous page of this list';
const Token = Type.String({ description: TOKEN_EXPECTED });

/** How a list is paged; `limit` is 1,000 unless the endpoint says otherwise. */
export const PageQuery = Type.Object(
  { limit: Type.Optional(Limit), token: Type.Optional(Token) },
  { additionalProperties: false },
);
export type PageQuery = { limit?: number; token?: string };

export const GroupPresenceQuery = Type.Object(
  {
    location: Type.Optional(Location),
    partial_match: Type.Optional(Flag),
    exclude_durable: Type.Optional(Flag),
    limit: Type.Optional(Limit),
    token: Type.Optional(Token),
  },
  { additionalProperties: false },
);
export type GroupPresenceQuery = Type.Static<typeof GroupPresenceQuery>;

export const UserPresenceQuery = Type.Object({ groupID: Id }, { additionalProperties: false });

export const BatchQuery = Type.Object({ dry_run: Type.Optional(Flag) }, { additionalProperties: false });

export const Failure = Type.Object({
  error: Type.Enum(Object.keys(ERRORS), { description: 'a code of the error vocabulary' }),
  message: Type.String({ description: 'an explanation; names the fields or IDs in question' }),
});

/** The answers of an endpoint: its own success, and failures in one shape. */
export const answers = (success: object, status = 200) => ({
  [status]: success,
  '4xx': Failure,
  '5xx': Failure,
});
