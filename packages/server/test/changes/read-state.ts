/** The state of a project that a replay of its changes gives, as the API reads it. */
import type { Status, ThreadList } from '@rollcall/protocol';
import { expectOk } from '../support/expect.ts';
import { type Project, segment, type UserPage } from '../support/project-client.ts';
import type { ReplayedState } from './change-replay.ts';

export async function readState(project: Project): Promise<ReplayedState> {
  const groups = new Map();
  for (const { id, status } of await project.groups()) {
    const path = `/v1/threads?groupID=${segment(id)}&limit=1000`;
    const { threads } = expectOk<ThreadList>(await project.get(path));
    groups.set(id, {
      status,
      members: new Set((await project.group(id)).members),
      threads: new Map(threads.map((thread) => [thread.id, thread.total])),
    });
  }
  return { users: await allUsers(project), groups };
}

async function allUsers(project: Project): Promise<Map<string, Status>> {
  const users = new Map<string, Status>();
  for (let token: string | null = ''; token !== null; ) {
    const page: UserPage = expectOk(await project.get(`/v1/users?limit=10000${token && `&token=${token}`}`));
    for (const { id, status } of page.users) users.set(id, status);
    token = page.pagination.token;
  }
  return users;
}
