import { ERRORS, type ErrorCode } from '@rollcall/protocol';
import type { TokenKind } from '../plugins/authenticate.ts';
import type { DescribedRoute } from './described-route.ts';
import type { OperationNotes } from './operation-notes.ts';

/** When each code is answered. */
export type Reasons = Readonly<Partial<Record<ErrorCode, string>>>;

/** Whatever the path: a query is checked by every route. */
const QUERY: Reasons = {
  unexpected_field: 'The query has a parameter that this operation does not take.',
  invalid_field: 'A parameter has a wrong value, or does not decode.',
};

const BODY: Reasons = {
  invalid_request: 'The body is empty, is not a JSON object, or comes with another content type.',
  unexpected_field: 'The body has a field, or the query a parameter, that this operation does not take.',
  invalid_field: 'A field or a parameter has a wrong type or value.',
};

const AUTHORIZATION: Reasons = {
  missing_authorization_header: ERRORS.missing_authorization_header.meaning,
  invalid_authorization_header: 'The header is not `Bearer` and a JWT.',
};

const TOKENS: Readonly<Record<NonNullable<TokenKind>, Reasons>> = {
  project: {
    ...AUTHORIZATION,
    project_not_found: 'The `project_id` of the token does not exist.',
    application_not_found: 'The `app_id` of the token does not exist.',
    invalid_project_token: ERRORS.invalid_project_token.meaning,
    invalid_app_token: ERRORS.invalid_app_token.meaning,
    invalid_access_token:
      'The access token is none of ours, or the token is of a kind that opens something else.',
    expired_access_token: ERRORS.expired_access_token.meaning,
  },
  client: {
    ...AUTHORIZATION,
    project_not_found: 'The `project_id` of the token does not exist.',
    application_not_found: 'The `app_id` of the token does not exist.',
    invalid_project_token: ERRORS.invalid_project_token.meaning,
    invalid_app_token: ERRORS.invalid_app_token.meaning,
    invalid_access_token: 'The token is no client token: it names no `user_id`.',
    user_not_found: "The token's user does not exist, or is set `deleted`.",
    group_not_found:
      "The group does not exist or is set `deleted`, the token's user is not a member of it, or the token opens another one.",
    organization_not_found: 'The same, where it is named as an organization.',
  },
  customer: {
    ...AUTHORIZATION,
    invalid_customer_token:
      'The customer token is expired or wrongly signed, or the token is no customer token.',
  },
};

/**
 * The refusals of an operation that carry a code's own status, by status. What follows from the route is not written
 * again for each: its token, its path, its query and its body.
 */
export function refusalsByStatus(route: DescribedRoute, notes: OperationNotes): Map<number, Reasons> {
  const { schema, tokenKind } = route;
  const reasons: Reasons = {
    // What is particular to the operation comes first.
    ...notes.refusals,
    ...(schema.body === undefined ? QUERY : bodyReasons(route)),
    ...(needsFields(schema.querystring) && { missing_field: 'A required parameter is absent.' }),
    ...(tokenKind !== null && TOKENS[tokenKind]),
    ...notes.refusals,
  };
  const byStatus = new Map<number, Partial<Record<ErrorCode, string>>>();
  for (const [code, reason] of Object.entries(reasons) as [ErrorCode, string][]) {
    const { status } = ERRORS[code];
    byStatus.set(status, { ...byStatus.get(status), [code]: reason });
  }
  return byStatus;
}

function bodyReasons({ schema, bodyOptional }: DescribedRoute): Reasons {
  return {
    ...BODY,
    ...(bodyOptional && {
      invalid_request: 'The body is not a JSON object, or comes with another content type.',
    }),
    ...(needsFields(schema.body) && { missing_field: 'A required field is absent.' }),
  };
}

/** Whether anything in the schema is required, however deep. */
const needsFields = (schema: object | undefined) =>
  schema !== undefined && JSON.stringify(schema).includes('"required":');
