/** The same calls for every generated client. What they return is compared with what is expected. */

/** An answer as each client has it, in one form. */
export interface Answer<Data> {
  readonly status: number;
  /** Undefined for an error. */
  readonly data?: Data | undefined;
  readonly error?: { readonly error: string; readonly message: string } | undefined;
  readonly etag?: string | null | undefined;
}

interface User {
  id: string;
  name: string;
  metadata?: Record<string, unknown>;
}

interface Batch {
  users: { id: string }[];
  groups: { id: string; name: string; members: string[] }[];
}

interface Presence {
  groupID: string;
  location: Record<string, string>;
  data?: Record<string, unknown> | null;
}

interface Message {
  id: string;
  authorID: string;
  content: { type: 'p'; children: { text: string; bold?: boolean }[] }[];
  createThread: { groupID: string; name: string };
}

interface Listed {
  readonly users: readonly { readonly id: string }[];
  readonly pagination: { readonly token: string | null };
}

/** What each client has to have: its own functions, with its own types. */
export interface Calls {
  createUser(user: User): Promise<Answer<{ readonly message: string }>>;
  applyBatch(batch: Batch): Promise<Answer<{ readonly users: { readonly created: number } }>>;
  putPresence(userId: string, presence: Presence): Promise<Answer<{ readonly success: true }>>;
  /** Those whose location matches. */
  listPresence(groupId: string, location: Record<string, string>): Promise<Answer<Pick<Listed, 'users'>>>;
  listUsers(limit: number, token?: string): Promise<Answer<Listed>>;
  createMessage(threadId: string, message: Message): Promise<Answer<{ readonly id: string }>>;
  getMessage(threadId: string, id: string): Promise<Answer<{ readonly plaintext: string }>>;
  getThread(threadId: string): Promise<Answer<{ readonly userMessages: number }>>;
  getUser(
    userId: string,
  ): Promise<Answer<{ readonly name: string | null; readonly metadata: Record<string, unknown> }>>;
  /** With `If-Match`. */
  putUser(userId: string, name: string, etag: string): Promise<Answer<{ readonly message: string }>>;
  deleteUser(userId: string): Promise<Answer<{ readonly message: string }>>;
  /** With a customer token. */
  listProjects(): Promise<Answer<readonly { readonly id: string; readonly name: string }[]>>;
  /** The same, with a body in which nothing is set. */
  rotateSecret(projectId: string): Promise<Answer<{ readonly secret: string }>>;
}

/** What a client is given. */
export const { ROLLCALL_URL: url = '', TOKEN: token = '', CUSTOMER_TOKEN: customerToken = '' } = process.env;

const ids = ({ data }: Answer<Pick<Listed, 'users'>>) => data?.users.map(({ id }) => id);

/** Makes the calls, and writes what they returned to standard output. */
export async function run(calls: Calls): Promise<void> {
  const created = await calls.createUser({
    id: 'team/ada',
    name: 'Ada',
    metadata: { plan: 'pro', seats: [1] },
  });
  const again = await calls.createUser({ id: 'team/ada', name: 'Ada' });
  const batch = await calls.applyBatch({
    users: [{ id: 'grace' }, { id: 'linus' }],
    groups: [{ id: 'g', name: 'G', members: ['team/ada', 'grace'] }],
  });
  const location = { page: 'a & b [1]', paragraph: '7' };
  const present = await calls.putPresence('team/ada', { groupID: 'g', location, data: { x: 1 } });
  await calls.putPresence('grace', { groupID: 'g', location: { page: 'other' } });
  const found = await calls.listPresence('g', { page: location.page });
  const first = await calls.listUsers(2);
  const second = await calls.listUsers(2, first.data?.pagination.token ?? '');
  const missing = await calls.getThread('launch');
  const message = await calls.createMessage('launch', {
    id: '81',
    authorID: 'grace',
    content: [{ type: 'p', children: [{ text: 'In ' }, { text: 'June', bold: true }] }],
    createThread: { groupID: 'g', name: 'Launch' },
  });
  const read = await calls.getMessage('launch', '81');
  const thread = await calls.getThread('launch');
  const { etag } = await calls.getUser('team/ada');
  const renamed = await calls.putUser('team/ada', 'Ada Lovelace', etag ?? '');
  const stale = await calls.putUser('team/ada', 'Ada', etag ?? '');
  const user = await calls.getUser('team/ada');
  const deleted = await calls.deleteUser('linus');
  const projects = await calls.listProjects();
  const rotated = await calls.rotateSecret(projects.data?.[0]?.id ?? '');
  process.stdout.write(
    JSON.stringify({
      created: [created.status, created.data?.message],
      again: [again.status, again.error?.error],
      batch: [batch.status, batch.data?.users.created],
      present: [present.status, present.data?.success],
      found: ids(found),
      pages: [ids(first), ids(second), second.data?.pagination.token],
      missing: [missing.status, missing.error?.error, missing.error?.message],
      message: [message.status, message.data?.id],
      read: read.data?.plaintext,
      thread: thread.data?.userMessages,
      renamed: [renamed.status, renamed.data?.message],
      stale: [stale.status, stale.error?.error],
      user: [user.data?.name, user.data?.metadata],
      deleted: [deleted.status, deleted.data?.message],
      projects: projects.status,
      rotated: rotated.status,
    }),
  );
}
