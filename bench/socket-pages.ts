/** The pages of the socket's measurements: who they are, how the server gets their users, and how they log in. */
import { mintClientToken } from '../packages/server/src/auth/sign.ts';
import { PROJECT } from './credentials.ts';
import { type Address, send } from './http.ts';

export interface Page {
  readonly userId: string;
  readonly groupId: string;
}

/** So many pages of users of their own, spread evenly over the groups. */
export const pages = (count: number, groups: number, kind: string): Page[] =>
  Array.from({ length: count }, (_, index) => ({
    userId: `${kind}${index}`,
    groupId: `group${index % groups}`,
  }));

/** Creates the users of the pages, and their groups. */
export async function fill(server: Address, token: string, all: readonly Page[]): Promise<void> {
  const groups = [...Map.groupBy(all, ({ groupId }) => groupId)].map(([id, own]) => ({
    ...{ id, name: id },
    members: own.map(({ userId }) => userId),
  }));
  await send(server, token, 'POST', '/v1/batch', { users: all.map(({ userId: id }) => ({ id })), groups });
}

/** The first frame of a page. */
export async function authFrame({ userId, groupId }: Page): Promise<object> {
  const token = await mintClientToken(userId, groupId)(PROJECT.id, PROJECT.secret, Date.now());
  return { op: 'auth', ref: 1, token };
}
