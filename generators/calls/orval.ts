import * as api from './generated/orval/client.ts';
import { type Calls, customerToken, run, token } from './scenario.ts';

/** The description has each status, so the type of `data` follows from it. */
interface Received {
  readonly status: number;
  readonly data: unknown;
  readonly headers: Headers;
}

type DataOf<Result extends Received> = Extract<Result, { status: 200 | 201 }>['data'];

/** The answer of the client in two cases: a success and an error. */
function answer<Result extends Received>(result: Result) {
  const { status, headers } = result;
  const etag = headers.get('etag');
  return status < 300
    ? { status, etag, data: result.data as DataOf<Result> }
    : { status, etag, error: result.data as api.Error };
}

const sent = (bearer = token, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${bearer}`, ...more },
});

const calls: Calls = {
  createUser: async (body) => answer(await api.createUser(body, sent())),
  applyBatch: async (body) => answer(await api.applyBatch(body, {}, sent())),
  putPresence: async (id, body) => answer(await api.putPresence(id, body, sent())),
  async listPresence(groupId, location) {
    const { status, data } = answer(
      await api.listGroupPresence(groupId, { location, partial_match: true }, sent()),
    );
    return { status, data: typeof data === 'object' && 'users' in data ? data : undefined };
  },
  async listUsers(limit, page) {
    return answer(await api.listUsers({ limit, ...(page !== undefined && { token: page }) }, sent()));
  },
  createMessage: async (threadId, body) => answer(await api.createMessage(threadId, body, sent())),
  getMessage: async (threadId, id) => answer(await api.getMessage(threadId, id, sent())),
  getThread: async (threadId) => answer(await api.getThread(threadId, sent())),
  getUser: async (id) => answer(await api.getUser(id, sent())),
  putUser: async (id, name, etag) =>
    answer(await api.putUser(id, { name }, sent(token, { 'if-match': etag }))),
  deleteUser: async (id) => answer(await api.deleteUser(id, sent())),
  listProjects: async () => answer(await api.listProjects(sent(customerToken))),
  rotateSecret: async (projectId) =>
    answer(await api.rotateProjectSecret(projectId, {}, sent(customerToken))),
};

void run(calls);
