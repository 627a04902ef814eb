/** A browser with a client token of a project. */
import type { Answer } from './http-client.ts';
import { type Claims, jwt, seconds } from './jwt.ts';
import type { Project } from './project-client.ts';

/**
 * A client token, signed with the project's secret at `now`, with these claims. By default it is as old as the project's own token:
 * the clock of a server in a test can be behind that of the machine.
 */
export const clientToken = (project: Project, claims: Claims, now = project.signedAt): string =>
  jwt({ project_id: project.id, iat: seconds(now), ...claims }, project.secret);

export class Browser {
  readonly project: Project;
  readonly token: string;

  constructor(project: Project, token: string) {
    this.project = project;
    this.token = token;
  }

  /** A browser of this user, with a token for one group or for all of theirs. */
  static of(project: Project, userId: string, groupId?: string): Browser {
    const group = groupId === undefined ? {} : { group_id: groupId };
    return new Browser(project, clientToken(project, { user_id: userId, ...group }));
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.project.get(path, { authorization: `Bearer ${this.token}`, ...headers });
  }

  put(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.project.put(path, body, { authorization: `Bearer ${this.token}`, ...headers });
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.project.post(path, body, { authorization: `Bearer ${this.token}`, ...headers });
  }

  delete(path: string): Promise<Answer> {
    return this.project.delete(path, { authorization: `Bearer ${this.token}` });
  }

  viewer(): Promise<Answer> {
    return this.get('/v1/client/viewer');
  }

  putPresence(body: Record<string, unknown>): Promise<Answer> {
    return this.put('/v1/client/presence', { location: { page: '1' }, ...body });
  }
}
