/** Projects (tenants) and the tokens that open them. */
import Type, { type Static } from 'typebox';
import { ROTATION_DEFAULT_OVERLAP_SECONDS, ROTATION_MAX_OVERLAP_SECONDS } from './limits.ts';
import { Id, Name, Timestamp } from './values.ts';

/** Body of `POST /v1/projects` and `PUT /v1/projects/<ID>`. */
export const ProjectWrite = Type.Object({ name: Name }, { additionalProperties: false });
export type ProjectWrite = Static<typeof ProjectWrite>;

export const Project = Type.Object({ id: Id, name: Name, created_at: Timestamp });
export type Project = Static<typeof Project>;

export const ProjectList = Type.Array(Project);

/** The one answer that shows a project's secret. */
export const ProjectCreated = Type.Object({
  id: Id,
  secret: Type.String(),
  name: Name,
  created_at: Timestamp,
});

/** Body of `POST /v1/projects/<ID>/rotate-secret`. */
export const SecretRotation = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: ROTATION_MAX_OVERLAP_SECONDS,
        default: ROTATION_DEFAULT_OVERLAP_SECONDS,
        description: `a whole number of seconds from 0 (ends the old secret at once) to ${ROTATION_MAX_OVERLAP_SECONDS}`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type SecretRotation = Static<typeof SecretRotation>;

export const SecretRotated = Type.Object({
  secret: Type.String(),
  previous_valid_until: Timestamp,
});

/** Body of `POST /v1/authorize`. */
export const Authorization = Type.Object(
  { signed_app_token: Type.String({ description: 'an app token (a JWT)' }) },
  { additionalProperties: false },
);
export type Authorization = Static<typeof Authorization>;

export const Authorized = Type.Object({ access_token: Type.String(), expires: Timestamp });
