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
    return this.transport.json('GET', '/v1/projects', options);
  }

  /** @throws RollcallError */
  async get(id: string, options?: CallOptions): Promise<Project> {
    return this.transport.json('GET', path`/v1/projects/${id}`, options);
  }

  /** The response contains the secret, and no later one does. Never retried. @throws RollcallError */
  async create(body: ProjectWrite, options?: CallOptions): Promise<ProjectCreated> {
    return this.transport.json('POST', '/v1/projects', options, { body });
  }

  /** Renames. @throws RollcallError */
  async put(id: string, body: ProjectWrite, options?: CallOptions): Promise<Done> {
    return this.transport.json('PUT', path`/v1/projects/${id}`, options, { body });
  }

  /** Deletes permanently, with all data of the project. @throws RollcallError */
  async delete(id: string, options?: CallOptions): Promise<Done> {
    return this.transport.json('DELETE', path`/v1/projects/${id}`, options);
  }

  /** The response contains the new secret, and no later one does. Never retried. @throws RollcallError */
  async rotateSecret(id: string, body: SecretRotation = {}, options?: CallOptions): Promise<SecretRotated> {
    return this.transport.json('POST', path`/v1/projects/${id}/rotate-secret`, options, { body });
  }
}
