/** Projects (tenants) and the tokens that give access to them. */

import { ROTATION_DEFAULT_OVERLAP_SECONDS, ROTATION_MAX_OVERLAP_SECONDS } from './limits.ts';
import { exactly, integer, list, maybe, meaning, object, type Static, text } from './schema.ts';
import { Id, Name, Timestamp } from './values.ts';

const fields = {
  id: meaning(Id, 'Names the project in the claim `project_id` of its tokens.'),
  name: meaning(Name, 'For people.'),
  created_at: meaning(Timestamp, 'When the project was created.'),
  secret: meaning(text(), "Signs the project's tokens. Shown only in this answer."),
};

/** Body of `POST /v1/projects` and `PUT /v1/projects/<ID>`. */
export const ProjectWrite = exactly(
  { name: fields.name },
  { 'x-meaning': 'The fields of a project that its customer sets.' },
);
export type ProjectWrite = Static<typeof ProjectWrite>;

export const Project = object(
  { id: fields.id, name: fields.name, created_at: fields.created_at },
  { 'x-meaning': 'A project, without its secret.' },
);
export type Project = Static<typeof Project>;

export const ProjectList = list(Project);

/** The only response that contains a project's secret. */
export const ProjectCreated = object(
  { id: fields.id, secret: fields.secret, name: fields.name, created_at: fields.created_at },
  { 'x-meaning': 'A new project, with its secret.' },
);

/** Body of `POST /v1/projects/<ID>/rotate-secret`. */
export const SecretRotation = exactly(
  {
    overlap_seconds: meaning(
      maybe(
        integer({
          minimum: 0,
          maximum: ROTATION_MAX_OVERLAP_SECONDS,
          description: `a whole number of seconds from 0 (ends the old secret at once) to ${ROTATION_MAX_OVERLAP_SECONDS}`,
        }),
      ),
      // Generators take a property with `default` for one that is always there.
      `How long the old secret stays good. ${ROTATION_DEFAULT_OVERLAP_SECONDS} when absent.`,
    ),
  },
  { 'x-meaning': 'How long the previous secret stays valid.' },
);
export type SecretRotation = Static<typeof SecretRotation>;

export const SecretRotated = object(
  {
    secret: fields.secret,
    previous_valid_until: meaning(Timestamp, 'Until when tokens signed with the previous secret are valid.'),
  },
  { 'x-meaning': 'A new secret.' },
);

/** Body of `POST /v1/authorize`. */
export const Authorization = exactly(
  { signed_app_token: text({ description: 'an app token (a JWT)' }) },
  { 'x-meaning': 'The app token for which an access token is issued.' },
);
export type Authorization = Static<typeof Authorization>;

export const Authorized = object(
  {
    access_token: meaning(text(), 'Goes into the `Authorization` header after `Bearer`.'),
    expires: meaning(Timestamp, 'When it expires.'),
  },
  { 'x-meaning': 'An access token.' },
);
