/**
 * The table of error codes: the source of the server's statuses, the client's `retryable` and the rows of docs/errors.md
 * (a test compares the page with the table).
 */

export interface ErrorRow {
  /** The HTTP status of the code, unless the situation has its own (404, 405, 412, 413, 429, 503). */
  readonly status: number;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /** The meaning of the code, for the API description. */
  readonly meaning: string;
}

const row = (status: number, meaning: string, retryable = false): ErrorRow => ({
  status,
  retryable,
  meaning,
});

export const ERRORS = {
  invalid_request: row(400, 'The body is not a valid JSON object, or the request does not fit the endpoint.'),
  unexpected_field: row(400, 'A field is present that is neither required nor optional.'),
  missing_field: row(400, 'A required field is absent.'),
  invalid_field: row(400, 'A field is present with a wrong type or value.'),
  message_not_appendable: row(400, 'The referenced message cannot be appended to.'),
  application_not_found: row(401, 'The application ID of the token does not exist.'),
  project_not_found: row(401, 'The project ID does not exist.'),
  user_not_found: row(401, 'A user ID is referenced that has not been created, or that may not act here.'),
  group_not_found: row(401, 'A group ID is referenced that has not been created, or that is not active.'),
  organization_not_found: row(401, 'An organization ID is referenced that has not been created.'),
  missing_authorization_header: row(401, 'The Authorization header is absent.'),
  invalid_authorization_header: row(401, 'The Authorization header is not "Bearer" and a JWT.'),
  invalid_app_token: row(401, 'The app token is expired, malformed or wrongly signed.'),
  invalid_project_token: row(401, 'The project token is expired, malformed or wrongly signed.'),
  invalid_customer_token: row(
    401,
    'The customer token is expired, malformed or wrongly signed, or is no customer token.',
  ),
  invalid_access_token: row(
    401,
    'The access token is invalid, or the token is not of a kind this endpoint takes.',
  ),
  expired_access_token: row(401, 'The access token is expired or revoked: request another one.'),
  thread_not_found: row(404, 'The thread does not exist, or the caller may not see it.'),
  message_not_found: row(404, 'The message does not exist, or the caller may not change it.'),
  webhook_not_found: row(404, 'The webhook does not exist.'),
  group_already_exists: row(409, 'The group being created already exists.'),
  user_already_exists: row(409, 'The user being created already exists.'),
  thread_already_exists: row(409, 'The thread being created already exists.'),
  message_already_exists: row(409, 'The message being created already exists.'),
  error: row(500, 'Something failed on our side.', true),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
