import { tokenFailure } from '../core/clients/token-failure.ts';
import { type Jwt, parseJwt } from './jwt.ts';

/** The scheme compares case-insensitively (RFC 9110, 11.1). */
const BEARER = /^Bearer +(\S+)$/i;

/**
 * The token of an Authorization header, not verified.
 * @throws ServiceError missing_authorization_header, invalid_authorization_header
 */
export function bearerToken(header: string | undefined): Jwt {
  if (header === undefined) {
    throw tokenFailure(
      'missing_authorization_header',
      'the bearer token must be present: send the header "Authorization: Bearer <token>"',
    );
  }
  const [, compact] = BEARER.exec(header) ?? [];
  const token = compact === undefined ? null : parseJwt(compact);
  if (token === null) {
    throw tokenFailure('invalid_authorization_header', 'the Authorization header must be "Bearer" and a JWT');
  }
  return token;
}
