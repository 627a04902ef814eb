import { AxiosError, type AxiosResponse } from 'axios';
import { Api, type Error as Failure } from './generated/swagger-typescript-api/client.ts';
import { type Answer, type Calls, customerToken, run, token, url } from './scenario.ts';

const client = (bearer: string) =>
  new Api({ baseURL: url, headers: { authorization: `Bearer ${bearer}` } }).v1;
const api = client(token);

/** Its client throws for an error. */
async function answer<Data>(request: Promise<AxiosResponse<Data>>): Promise<Answer<Data>> {
  try {
    const { status, data, headers } = await request;
    return { status, data, etag: headers.etag };
  } catch (thrown) {
    if (!(thrown instanceof AxiosError) || thrown.response === undefined) throw thrown;
    const { status, data } = thrown.response as AxiosResponse<Failure>;
    return { status, error: data };
  }
}

// It writes an ID into the path as it is.
const segment = encodeURIComponent;

const calls: Calls = {
  createUser: (body) => answer(api.createUser(body)),
  applyBatch: (body) => answer(api.applyBatch(body)),
  putPresence: (id, body) => answer(api.putPresence(segment(id), body)),
  async listPresence(groupId, location) {
    const { status, data } = await answer(api.listGroupPresence(groupId, { location, partial_match: true }));
    return { status, data: data !== undefined && 'users' in data ? data : undefined };
  },
  listUsers: (limit, page) => answer(api.listUsers({ limit, ...(page !== undefined && { token: page }) })),
  createMessage: (threadId, body) => answer(api.createMessage(threadId, body)),
  getMessage: (threadId, id) => answer(api.getMessage(threadId, id)),
  getThread: (threadId) => answer(api.getThread(threadId)),
  getUser: (id) => answer(api.getUser(segment(id))),
  putUser: (id, name, etag) => answer(api.putUser(segment(id), { name }, { headers: { 'If-Match': etag } })),
  deleteUser: (id) => answer(api.deleteUser(segment(id))),
  listProjects: () => answer(client(customerToken).listProjects()),
  rotateSecret: (projectId) => answer(client(customerToken).rotateProjectSecret(projectId, {})),
};

void run(calls);
