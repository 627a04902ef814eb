/** Batches of one project. */
import type { ChangeCounts } from '@rollcall/protocol';
import { expectOk } from './expect.ts';
import type { OneServer } from './one-server.ts';
import type { Project } from './project-client.ts';

interface Done {
  readonly success: boolean;
  readonly message: string;
  readonly users: ChangeCounts;
  readonly groups: ChangeCounts;
}

export const batch = (project: Project, body: unknown, query = '') => project.post(`/v1/batch${query}`, body);

export const applied = async (project: Project, body: unknown, query = '') =>
  expectOk<Done>(await batch(project, body, query));

/** A project with the users u1 and u2, and the group g of both. */
export async function projectWithBoth(server: OneServer): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: [
      { id: 'u1', name: 'Ann', email: 'ann@example.com' },
      { id: 'u2', name: 'Bea' },
    ],
    groups: [{ id: 'g', name: 'G', members: ['u1', 'u2'], metadata: { a: 1 } }],
  });
  return project;
}
