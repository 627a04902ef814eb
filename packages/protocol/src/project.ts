/** Projects (tenants) and the tokens that open them. */

import { ROTATION_DEFAULT_OVERLAP_SECONDS, ROTATION_MAX_OVERLAP_SECONDS } from './limits.ts';
import { exactly, integer, list, maybe, object, type Static, text } from './schema.ts';
import { Id, Name, Timestamp } from './values.ts';

/** Body of `POST /v1/projects` and `PUT /v1/projects/<ID>`. */
export const ProjectWrite = exactly({ name: Name });
export type ProjectWrite = Static<typeof ProjectWrite>;

export const Project = object({ id: Id, name: Name, created_at: Timestamp });
export type Project = Static<typeof Project>;

export const ProjectList = list(Project);

/** The one answer that shows a project's secret. */
export const ProjectCreated = object({
  id: Id,
  secret: text(),
  name: Name,
  created_at: Timestamp,
});

/** Body of `POST /v1/projects/<ID>/rotate-secret`. */
export const SecretRotation = exactly({
  overlap_seconds: maybe(
    integer({
      minimum: 0,
      maximum: ROTATION_MAX_OVERLAP_SECONDS,
      default: ROTATION_DEFAULT_OVERLAP_SECONDS,
      description: `a whole number of seconds from 0 (ends the old secret at once) to ${ROTATION_MAX_OVERLAP_SECONDS}`,
    }),
  ),
});
export type SecretRotation = Static<typeof SecretRotation>;

export const SecretRotated = object({
  secret: text(),
  previous_valid_until: Timestamp,
});

/** Body of `POST /v1/authorize`. */
export const Authorization = exactly({ signed_app_token: text({ description: 'an app token (a JWT)' }) });
export type Authorization = Static<typeof Authorization>;

export const Authorized = object({ access_token: text(), expires: Timestamp });
