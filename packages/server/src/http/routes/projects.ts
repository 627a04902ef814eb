import {
  Done,
  Project,
  ProjectCreated,
  ProjectList,
  ProjectWrite,
  SecretRotated,
  SecretRotation,
} from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import type { Services } from '../../services.ts';
import { done } from '../answer.ts';
import { presentNewProject, presentNewSecret, presentProject } from '../present.ts';
import { answers, IdInPath } from '../schemas.ts';
import type { ById } from './route-words.ts';

const tags = ['projects'];

/** A customer's projects. */
export function projectRoutes(app: FastifyInstance, services: Services): void {
  createProject(app, services);
  listProjects(app, services);
  getProject(app, services);
  renameProject(app, services);
  deleteProject(app, services);
  rotateSecret(app, services);
}

function createProject(app: FastifyInstance, { projects }: Services): void {
  const schema = {
    operationId: 'createProject',
    summary: 'Create a project; the answer shows its secret, once',
    tags,
    body: ProjectWrite,
    response: answers(ProjectCreated, 201),
  };
  app.post<{ Body: ProjectWrite }>('/v1/projects', { schema }, async ({ customer, body }, reply) => {
    const project = await projects.create(customer, body);
    reply.code(201);
    return presentNewProject(project);
  });
}

function listProjects(app: FastifyInstance, { projects }: Services): void {
  const schema = {
    operationId: 'listProjects',
    summary: "List the customer's projects, in order of ID",
    tags,
    response: answers(ProjectList),
  };
  app.get('/v1/projects', { schema }, async ({ customer }) => {
    const list = await projects.list(customer);
    return `[${list.map(presentProject).join(',')}]`;
  });
}

function getProject(app: FastifyInstance, { projects }: Services): void {
  const schema = {
    operationId: 'getProject',
    summary: 'Get a project',
    tags,
    params: IdInPath,
    response: answers(Project),
  };
  app.get<ById>('/v1/projects/:id', { schema }, async ({ customer, params }) =>
    presentProject(await projects.get(customer, params.id)),
  );
}

function renameProject(app: FastifyInstance, { projects }: Services): void {
  const schema = {
    operationId: 'renameProject',
    summary: 'Rename a project',
    tags,
    params: IdInPath,
    body: ProjectWrite,
    response: answers(Done),
  };
  const url = '/v1/projects/:id';
  app.put<ById & { Body: ProjectWrite }>(url, { schema }, async ({ customer, params, body }) => {
    await projects.rename(customer, params.id, body.name);
    return done(`updated project ${params.id}`);
  });
}

function deleteProject(app: FastifyInstance, { projects }: Services): void {
  const schema = {
    operationId: 'deleteProject',
    summary: 'Delete a project for good, with all of its data',
    tags,
    params: IdInPath,
    response: answers(Done),
  };
  app.delete<ById>('/v1/projects/:id', { schema }, async ({ customer, params }) => {
    await projects.remove(customer, params.id);
    return done(`deleted project ${params.id}`);
  });
}

function rotateSecret(app: FastifyInstance, { projects }: Services): void {
  const schema = {
    operationId: 'rotateProjectSecret',
    summary: "Replace a project's secret; the answer shows the new one, once",
    tags,
    params: IdInPath,
    body: SecretRotation,
    response: answers(SecretRotated),
  };
  const route = { schema, config: { bodyOptional: true } };
  const url = '/v1/projects/:id/rotate-secret';
  app.post<ById & { Body: SecretRotation }>(url, route, async ({ customer, params, body }) =>
    presentNewSecret(await projects.rotateSecret(customer, params.id, body.overlap_seconds)),
  );
}
