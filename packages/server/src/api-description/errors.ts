import { ERRORS, type ErrorCode } from '@rollcall/protocol';
import type { AnyOperation, TokenKind } from '../http/operation.ts';

/** When each code is answered. */
export type Reasons = Readonly<Partial<Record<ErrorCode, string>>>;

/** Whatever the path: a query is checked by every route. */
const QUERY: Reasons = {
  invalid_request: 'The path or the query has a `#`, which an ID has as `%23`.',
  unexpected_field: 'The query has a parameter that this operation does not take.',
  invalid_field: 'A parameter has a wrong value, or does not decode.',
};

const BODY: Reasons = {
  invalid_request:
    'The body is empty, is not a JSON object, or comes with another content type; or the path or the query has a `#`.',
  unexpected_field: 'The body has a field, or the query a parameter, that this operation does not take.',
  invalid_field: 'A field or a parameter has a wrong type or value.',
};

const AUTHORIZATION: Reasons = {
  missing_authorization_header: ERRORS.missing_authorization_header.meaning,
  invalid_authorization_header: 'The header is not `Bearer` and a JWT.',
};

/** Of tokens that are signed with a project's secret. */
const OF_PROJECT: Reasons = {
  ...AUTHORIZATION,
  project_not_found: 'The `project_id` of the token does not exist.',
  application_not_found: 'The `app_id` of the token does not exist.',
  invalid_project_token: ERRORS.invalid_project_token.meaning,
  invalid_app_token: ERRORS.invalid_app_token.meaning,
};

const TOKENS: Readonly<Record<Exclude<TokenKind, 'none'>, Reasons>> = {
  project: {
    ...OF_PROJECT,
    invalid_access_token:
      'The access token is none of ours, or the token is of a kind that opens something else.',
    expired_access_token: ERRORS.expired_access_token.meaning,
  },
  client: {
    ...OF_PROJECT,
    invalid_access_token: 'The token is no client token: it names no `user_id`.',
    user_not_found: "The token's user does not exist, or is set `deleted`.",
  },
  customer: {
    ...AUTHORIZATION,
    invalid_customer_token:
      'The customer token is expired or wrongly signed, or the token opens the data of a project.',
    invalid_access_token: 'The token is a client token (one with `user_id`), or has none of the claims.',
  },
};

/**
 * The errors of an operation that have their code's own status, by status. Those that follow from its token, path, query and
 * body are not written at each operation.
 */
export function errorsByStatus(operation: AnyOperation): Map<number, Reasons> {
  const { token, body, query, errors } = operation;
  const reasons: Reasons = {
    // Those of the operation itself come first.
    ...errors,
    ...(body === undefined ? QUERY : bodyReasons(body)),
    ...(needsFields(query) && { missing_field: 'A required parameter is absent.' }),
    ...(token !== 'none' && TOKENS[token]),
    ...errors,
  };
  const byStatus = new Map<number, Partial<Record<ErrorCode, string>>>();
  for (const [code, reason] of Object.entries(reasons) as [ErrorCode, string][]) {
    const { status } = ERRORS[code];
    byStatus.set(status, { ...byStatus.get(status), [code]: reason });
  }
  return byStatus;
}

function bodyReasons({ schema, isOptional = false }: NonNullable<AnyOperation['body']>): Reasons {
  return {
    ...BODY,
    ...(isOptional && {
      invalid_request:
        'The body is not a JSON object, or comes with another content type; or the path or the query has a `#`.',
    }),
    ...(needsFields(schema) && { missing_field: 'A required field is absent.' }),
  };
}

/** Whether anything in the schema is required, however deep. */
const needsFields = (schema: object | undefined) =>
  schema !== undefined && JSON.stringify(schema).includes('"required":');
