import { client } from './generated/hey-api/client.gen.ts';
import * as api from './generated/hey-api/index.ts';
import { type Calls, customerToken, run, token, url } from './scenario.ts';

// The client names the kind of token that the operation needs.
client.setConfig({ baseUrl: url, auth: ({ key }) => (key === 'customerToken' ? customerToken : token) });

/** The answer of the client, with its status and its tag. */
function answer<Data, Failure>(result: { data?: Data; error?: Failure; response?: Response }) {
  const { data, error, response } = result;
  return { status: response?.status ?? 0, data, error, etag: response?.headers.get('etag') };
}

const user = (user_id: string) => ({ path: { user_id } });

const calls: Calls = {
  createUser: async (body) => answer(await api.createUser({ body })),
  applyBatch: async (body) => answer(await api.applyBatch({ body })),
  putPresence: async (id, body) => answer(await api.putPresence({ ...user(id), body })),
  async listPresence(group_id, location) {
    const query = { location, partial_match: true };
    const { status, data } = answer(await api.listGroupPresence({ path: { group_id }, query }));
    return { status, data: typeof data === 'object' && 'users' in data ? data : undefined };
  },
  async listUsers(limit, page) {
    const query = { limit, ...(page !== undefined && { token: page }) };
    return answer(await api.listUsers({ query }));
  },
  createMessage: async (thread_id, body) => answer(await api.createMessage({ path: { thread_id }, body })),
  getMessage: async (thread_id, message_id) =>
    answer(await api.getMessage({ path: { thread_id, message_id } })),
  getThread: async (thread_id) => answer(await api.getThread({ path: { thread_id } })),
  getUser: async (id) => answer(await api.getUser(user(id))),
  async putUser(id, name, etag) {
    return answer(await api.putUser({ ...user(id), headers: { 'If-Match': etag }, body: { name } }));
  },
  deleteUser: async (id) => answer(await api.deleteUser(user(id))),
  listProjects: async () => answer(await api.listProjects()),
  rotateSecret: async (project_id) =>
    answer(await api.rotateProjectSecret({ path: { project_id }, body: {} })),
};

void run(calls);
