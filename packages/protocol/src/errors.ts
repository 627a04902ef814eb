/**
 * The table of error codes: the source of the server's statuses, the client's `retryable` and the rows of docs/errors.md
 * (a test compares the page with the table).
 */

interface ErrorRow {
  /** The HTTP status of the code, unless the situation has its own: docs/errors.md lists these. */
  readonly status: number;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /** The meaning of the code, for the API description. */
  readonly meaning: string;
  /** A message that it is answered with. */
  readonly example: string;
}

const row = (status: number, meaning: string, example: string, retryable = false): ErrorRow => ({
  status,
  retryable,
  meaning,
  example,
});

export const ERRORS = {
  invalid_request: row(
    400,
    'The body is not a valid JSON object, or the request does not fit the endpoint.',
    'the request body is not valid JSON',
  ),
  unexpected_field: row(
    400,
    'A field is present that is neither required nor optional.',
    'unexpected field nick (expected fields: name, status, metadata, members)',
  ),
  missing_field: row(
    400,
    'A required field is absent.',
    'missing field name (expected a string of 1 to 256 characters, to create it)',
  ),
  invalid_field: row(
    400,
    'A field is present with a wrong type or value.',
    'invalid field status (expected "active" or "deleted")',
  ),
  message_not_appendable: row(
    400,
    'The referenced message cannot be appended to.',
    'message 81 cannot be appended to: it must contain a markdown node only',
  ),
  application_not_found: row(
    401,
    'The application ID of the token does not exist.',
    'the app ID acme of the token does not exist',
  ),
  project_not_found: row(
    401,
    'The project ID does not exist.',
    'the project ID acme of the token does not exist',
  ),
  user_not_found: row(
    401,
    'A user ID is referenced that has not been created, or that may not act here.',
    'user carol does not exist',
  ),
  group_not_found: row(
    401,
    'A group ID is referenced that has not been created, or that is not active.',
    'group analysts does not exist',
  ),
  organization_not_found: row(
    401,
    'An organization ID is referenced that has not been created.',
    'organization analysts does not exist',
  ),
  missing_authorization_header: row(
    401,
    'The Authorization header is absent.',
    'the bearer token must be present: send the header "Authorization: Bearer <token>"',
  ),
  invalid_authorization_header: row(
    401,
    'The Authorization header is not "Bearer" and a JWT.',
    'the Authorization header must be "Bearer" and a JWT',
  ),
  invalid_app_token: row(
    401,
    'The app token is expired, malformed or wrongly signed.',
    "the app token is not signed with the project's secret",
  ),
  invalid_project_token: row(
    401,
    'The project token is expired, malformed or wrongly signed.',
    'the project token is not within its time',
  ),
  invalid_customer_token: row(
    401,
    'The customer token is expired, malformed or wrongly signed, or the token opens the data of a project.',
    "the customer token is not signed with a customer's secret",
  ),
  invalid_access_token: row(
    401,
    'The access token is invalid, or the token is not of a kind this endpoint takes.',
    'the access token is not one that this service issued',
  ),
  expired_access_token: row(
    401,
    'The access token is expired or revoked: request another one.',
    'the access token is expired or revoked; request another one',
  ),
  thread_not_found: row(
    404,
    'The thread does not exist, or the caller may not see it.',
    'thread launch does not exist',
  ),
  message_not_found: row(
    404,
    'The message does not exist, or the caller may not change it.',
    'message 81 does not exist in thread launch',
  ),
  webhook_not_found: row(404, 'The webhook does not exist.', 'webhook search-index does not exist'),
  group_already_exists: row(409, 'The group being created already exists.', 'group analysts already exists'),
  user_already_exists: row(409, 'The user being created already exists.', 'user ada already exists'),
  thread_already_exists: row(409, 'The thread being created already exists.', 'thread launch already exists'),
  message_already_exists: row(
    409,
    'The message being created already exists.',
    'message 81 already exists in thread launch',
  ),
  // The message has no details: those are in the log.
  error: row(
    500,
    'Something failed on our side.',
    'something failed on our side; the log has the cause, under the x-request-id of this answer or of one shortly before',
    true,
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
