/**
 * The error vocabulary: the one table from which the server takes its statuses, the client its `retryable`, and
 * docs/errors.md its rows (a test holds page and table together).
 */

export interface ErrorRow {
  /** The HTTP status that goes with the code, unless the situation has one of its own (404, 405, 412, 413, 429, 503). */
  readonly status: number;
  /** Whether sending the same request again, unchanged, can succeed. */
  readonly retryable: boolean;
  /** What the code means, for the API description. */
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
  group_already_exists: row(409, 'The group being created already exists.'),
  user_already_exists: row(409, 'The user being created already exists.'),
  error: row(500, 'Something failed on our side.', true),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** The body of every answer that is not a success. */
export interface ErrorBody {
  readonly error: ErrorCode;
  readonly message: string;
}
