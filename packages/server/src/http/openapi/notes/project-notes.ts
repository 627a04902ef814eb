import { doneExample, type NotesByOperation } from '../operation-notes.ts';

export const PROJECT_ID = 'prj_kW3xUq9bT1mZr0Ye';
/** What the example of a secret looks like; long enough for the strongest signature. */
const SECRET = 'wJ2c8V0qk6m1Yt4Z9pXhD3sLr7uNbQfGaE5iOoRyTnKcMvPzSxHdWgBjU2eA0lIq';

const PROJECT_EXAMPLE = { id: PROJECT_ID, name: 'Acme production', created_at: '2026-03-01T09:00:00.000Z' };

const NO_SUCH_PROJECT = 'The project does not exist, or belongs to another customer.';

/** `/v1/projects`, for customers. */
export const PROJECT_NOTES: NotesByOperation = {
  createProject: {
    bodies: { project: { value: { name: 'Acme production' } } },
    success: 'The project. Keep its secret: it is not shown again.',
    answer: { ...PROJECT_EXAMPLE, secret: SECRET },
  },
  listProjects: { success: 'The projects, without secrets.', answer: [PROJECT_EXAMPLE] },
  getProject: {
    success: 'The project, without its secret.',
    answer: PROJECT_EXAMPLE,
    refusals: { project_not_found: NO_SUCH_PROJECT },
  },
  renameProject: {
    bodies: { rename: { value: { name: 'Acme staging' } } },
    success: 'The project was renamed.',
    answer: doneExample(`updated project ${PROJECT_ID}`),
    refusals: { project_not_found: NO_SUCH_PROJECT },
  },
  deleteProject: {
    description: 'There is no way back: its users, groups, preferences and presence go with it.',
    success: 'The project is gone.',
    answer: doneExample(`deleted project ${PROJECT_ID}`),
    refusals: { project_not_found: NO_SUCH_PROJECT },
  },
  rotateProjectSecret: {
    description:
      'Tokens signed with the secret before stay good for `overlap_seconds`, so that hosts can change over. The body may be left out.',
    bodies: {
      hour: { summary: 'Both secrets are good for an hour', value: { overlap_seconds: 3600 } },
      leaked: { summary: 'The old one ends at once', value: { overlap_seconds: 0 } },
    },
    success: 'The new secret. Keep it: it is not shown again.',
    answer: { secret: SECRET, previous_valid_until: '2026-03-01T10:00:00.000Z' },
    refusals: { project_not_found: NO_SUCH_PROJECT },
  },
};

const ACCESS_TOKEN =
  'eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzZXNzaW9uX2lkIjoiOXQyayIsImlhdCI6MTc3MjM1NTYwMH0.Zm9yLXNob3ctb25seQ';
const APP_TOKEN =
  'eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJhcHBfaWQiOiJhY21lIiwiaWF0IjoxNzcyMzU1NjAwfQ.Zm9yLXNob3ctb25seQ';

/** `/v1/authorize`. */
export const TOKEN_NOTES: NotesByOperation = {
  authorize: {
    description: 'Needs no `Authorization` header: the body is the credential.',
    bodies: { appToken: { value: { signed_app_token: APP_TOKEN } } },
    success: 'An access token, good for 24 hours.',
    answer: { access_token: ACCESS_TOKEN, expires: '2026-03-02T09:00:00.000Z' },
    refusals: {
      application_not_found: 'The `app_id` of the token does not exist.',
      invalid_app_token: '`signed_app_token` is no app token, or is expired or wrongly signed.',
    },
    unavailable: 'The store cannot be reached.',
  },
  revoke: {
    description: 'Takes an access token only, the one to revoke.',
    success: 'The token opens nothing any more.',
    answer: doneExample('revoked the access token'),
  },
};
