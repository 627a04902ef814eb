import {
  Project,
  ProjectCreated,
  ProjectList,
  ProjectWrite,
  SecretRotated,
  SecretRotation,
} from '@rollcall/protocol';
import { done } from '../../wire/json-answer.ts';
import { presentNewProject, presentNewSecret, presentProject } from '../../wire/presenters.ts';
import { operationsOf } from '../operation.ts';
import { doneAnswer } from './examples.ts';

const operation = operationsOf('customer', {
  name: 'projects',
  description: 'What a customer has: tenants, each with a secret and data of its own.',
});

export const PROJECT_ID = 'prj_kW3xUq9bT1mZr0Ye';
/** An example of a secret, long enough for the strongest signature. */
const SECRET = 'wJ2c8V0qk6m1Yt4Z9pXhD3sLr7uNbQfGaE5iOoRyTnKcMvPzSxHdWgBjU2eA0lIq';
const PROJECT_EXAMPLE = { id: PROJECT_ID, name: 'Acme production', created_at: '2026-03-01T09:00:00.000Z' };

const NO_SUCH_PROJECT = 'The project does not exist, or belongs to another customer.';

const createProject = operation('POST /v1/projects', {
  id: 'createProject',
  summary: 'Create a project; the answer shows its secret, once',
  description: 'The secret signs the tokens of the project. `rotate-secret` replaces it.',
  body: { schema: ProjectWrite, examples: { project: { value: { name: 'Acme production' } } } },
  answer: {
    status: 201,
    schema: ProjectCreated,
    description: 'The project. Store its secret: it is not shown again.',
    example: { ...PROJECT_EXAMPLE, secret: SECRET },
  },
  async handle({ writer, body, trace }, { projects }) {
    return presentNewProject(await projects.create(writer, body, trace));
  },
});

const listProjects = operation('GET /v1/projects', {
  id: 'listProjects',
  summary: "List the customer's projects, in order of ID",
  description: 'The whole list, without pages.',
  answer: {
    schema: ProjectList,
    description: 'The projects, without secrets.',
    example: [PROJECT_EXAMPLE],
  },
  async handle({ caller }, { projects }) {
    const list = await projects.list(caller);
    return `[${list.map(presentProject).join(',')}]`;
  },
});

const getProject = operation('GET /v1/projects/:id', {
  id: 'getProject',
  summary: 'Get a project',
  description: 'Of the customer that the token names.',
  answer: {
    schema: Project,
    description: 'The project, without its secret.',
    example: PROJECT_EXAMPLE,
  },
  errors: { project_not_found: NO_SUCH_PROJECT },
  async handle({ caller, pathId }, { projects }) {
    return presentProject(await projects.get(caller, pathId));
  },
});

const renameProject = operation('PUT /v1/projects/:id', {
  id: 'renameProject',
  summary: 'Rename a project',
  description: 'The name is for people. The ID, by which tokens name the project, stays.',
  body: { schema: ProjectWrite, examples: { rename: { value: { name: 'Acme staging' } } } },
  answer: doneAnswer('The project was renamed.', `updated project ${PROJECT_ID}`),
  errors: { project_not_found: NO_SUCH_PROJECT },
  async handle({ writer, pathId, body }, { projects }) {
    await projects.rename(writer, pathId, body.name);
    return done(`updated project ${pathId}`);
  },
});

const deleteProject = operation('DELETE /v1/projects/:id', {
  id: 'deleteProject',
  summary: 'Delete a project for good, with all of its data',
  description: 'There is no way back.',
  answer: doneAnswer('The project was deleted.', `deleted project ${PROJECT_ID}`),
  errors: { project_not_found: NO_SUCH_PROJECT },
  async handle({ writer, pathId, trace }, { projects }) {
    await projects.remove(writer, pathId, trace);
    return done(`deleted project ${pathId}`);
  },
});

const rotateProjectSecret = operation('POST /v1/projects/:id/rotate-secret', {
  id: 'rotateProjectSecret',
  summary: "Replace a project's secret; the answer shows the new one, once",
  description:
    'Tokens signed with the secret before stay good for `overlap_seconds`, so that hosts can change over. The body may be left out.',
  body: {
    schema: SecretRotation,
    isOptional: true,
    examples: {
      hour: { summary: 'Both secrets are good for an hour', value: { overlap_seconds: 3600 } },
      leaked: { summary: 'The old one ends at once', value: { overlap_seconds: 0 } },
    },
  },
  answer: {
    schema: SecretRotated,
    description: 'The new secret. Store it: it is not shown again.',
    example: { secret: SECRET, previous_valid_until: '2026-03-01T10:00:00.000Z' },
  },
  errors: { project_not_found: NO_SUCH_PROJECT },
  async handle({ writer, pathId, body }, { projects }) {
    return presentNewSecret(await projects.rotateSecret(writer, pathId, body.overlap_seconds));
  },
});

export const projectOperations = [
  createProject,
  listProjects,
  getProject,
  renameProject,
  deleteProject,
  rotateProjectSecret,
];
