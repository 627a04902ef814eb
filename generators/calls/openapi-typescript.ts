import createClient from 'openapi-fetch';
import type { paths } from './generated/openapi-typescript/schema.ts';
import { type Calls, customerToken, run, token, url } from './scenario.ts';

const headers = { authorization: `Bearer ${token}` };
const ofCustomer = { authorization: `Bearer ${customerToken}` };
const client = createClient<paths>({ baseUrl: url, headers });

/** The answer of the client, with its status and its tag. */
function answer<Data, Failure>(result: { data?: Data; error?: Failure; response: Response }) {
  const { data, error, response } = result;
  return { status: response.status, data, error, etag: response.headers.get('etag') };
}

const user = (user_id: string) => ({ path: { user_id } });

const calls: Calls = {
  createUser: async (body) => answer(await client.POST('/v1/users', { body })),
  applyBatch: async (body) => answer(await client.POST('/v1/batch', { body })),
  putPresence: async (id, body) =>
    answer(await client.PUT('/v1/users/{user_id}/presence', { params: user(id), body })),
  async listPresence(group_id, location) {
    const params = { path: { group_id }, query: { location, partial_match: true } };
    const { status, data } = answer(await client.GET('/v1/groups/{group_id}/presence', { params }));
    return { status, data: typeof data === 'object' && 'users' in data ? data : undefined };
  },
  async listUsers(limit, page) {
    const query = { limit, ...(page !== undefined && { token: page }) };
    return answer(await client.GET('/v1/users', { params: { query } }));
  },
  async createMessage(thread_id, body) {
    const params = { path: { thread_id } };
    return answer(await client.POST('/v1/threads/{thread_id}/messages', { params, body }));
  },
  async getMessage(thread_id, message_id) {
    const params = { path: { thread_id, message_id } };
    return answer(await client.GET('/v1/threads/{thread_id}/messages/{message_id}', { params }));
  },
  getThread: async (thread_id) =>
    answer(await client.GET('/v1/threads/{thread_id}', { params: { path: { thread_id } } })),
  getUser: async (id) => answer(await client.GET('/v1/users/{user_id}', { params: user(id) })),
  async putUser(id, name, etag) {
    const params = { ...user(id), header: { 'If-Match': etag } };
    return answer(await client.PUT('/v1/users/{user_id}', { params, body: { name } }));
  },
  deleteUser: async (id) => answer(await client.DELETE('/v1/users/{user_id}', { params: user(id) })),
  listProjects: async () => answer(await client.GET('/v1/projects', { headers: ofCustomer })),
  async rotateSecret(project_id) {
    const options = { params: { path: { project_id } }, body: {}, headers: ofCustomer };
    return answer(await client.POST('/v1/projects/{project_id}/rotate-secret', options));
  },
};

void run(calls);
