import { path } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type {
  Done,
  Project,
  ProjectCreated,
  ProjectWrite,
  SecretRotated,
  SecretRotation,
} from '../protocol.ts';

/** A customer's projects: these take a customer token and no other, and nothing else takes one. */
export class Projects {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** @throws RollcallError */
  async list(options?: CallOptions): Promise<Project[]> {
    return this.#transport.json({ method: 'GET', path: '/v1/projects' }, options);
  }

  /** @throws RollcallError */
  async get(id: string, options?: CallOptions): Promise<Project> {
    return this.#transport.json({ method: 'GET', path: path`/v1/projects/${id}` }, options);
  }

  /** The answer shows the secret, once. Never sent twice. @throws RollcallError */
  async create(project: ProjectWrite, options?: CallOptions): Promise<ProjectCreated> {
    return this.#transport.json({ method: 'POST', path: '/v1/projects', body: project }, options);
  }

  /** Renames. @throws RollcallError */
  async put(id: string, project: ProjectWrite, options?: CallOptions): Promise<Done> {
    return this.#transport.json({ method: 'PUT', path: path`/v1/projects/${id}`, body: project }, options);
  }

  /** Removes for good, with all of its data. @throws RollcallError */
  async delete(id: string, options?: CallOptions): Promise<Done> {
    return this.#transport.json({ method: 'DELETE', path: path`/v1/projects/${id}` }, options);
  }

  /** The answer shows the new secret, once. Never sent twice. @throws RollcallError */
  async rotateSecret(
    id: string,
    rotation: SecretRotation = {},
    options?: CallOptions,
  ): Promise<SecretRotated> {
    const request = { method: 'POST', path: path`/v1/projects/${id}/rotate-secret`, body: rotation } as const;
    return this.#transport.json(request, options);
  }
}
