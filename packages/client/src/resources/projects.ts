import { path } from '../http/path.ts';
import type { CallOptions } from '../http/transport.ts';
import type {
  Done,
  Project,
  ProjectCreated,
  ProjectWrite,
  SecretRotated,
  SecretRotation,
} from '../protocol.ts';
import { Resource } from './resource.ts';

/** A customer's projects. Only these methods take a customer token, and they take no other. */
export class Projects extends Resource {
  /** @throws RollcallError */
  async list(options?: CallOptions): Promise<Project[]> {
    return this.transport.json({ method: 'GET', path: '/v1/projects' }, options);
  }

  /** @throws RollcallError */
  async get(id: string, options?: CallOptions): Promise<Project> {
    return this.transport.json({ method: 'GET', path: path`/v1/projects/${id}` }, options);
  }

  /** The response contains the secret, and no later one does. Never retried. @throws RollcallError */
  async create(project: ProjectWrite, options?: CallOptions): Promise<ProjectCreated> {
    return this.transport.json({ method: 'POST', path: '/v1/projects', body: project }, options);
  }

  /** Renames. @throws RollcallError */
  async put(id: string, project: ProjectWrite, options?: CallOptions): Promise<Done> {
    return this.transport.json({ method: 'PUT', path: path`/v1/projects/${id}`, body: project }, options);
  }

  /** Deletes permanently, with all data of the project. @throws RollcallError */
  async delete(id: string, options?: CallOptions): Promise<Done> {
    return this.transport.json({ method: 'DELETE', path: path`/v1/projects/${id}` }, options);
  }

  /** The response contains the new secret, and no later one does. Never retried. @throws RollcallError */
  async rotateSecret(
    id: string,
    rotation: SecretRotation = {},
    options?: CallOptions,
  ): Promise<SecretRotated> {
    const request = { method: 'POST', path: path`/v1/projects/${id}/rotate-secret`, body: rotation } as const;
    return this.transport.json(request, options);
  }
}
