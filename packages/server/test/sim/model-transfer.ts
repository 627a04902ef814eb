/** What the model exports as records, and how it imports them. */
import { canonicalLocation } from '@rollcall/protocol';
import { messageWriteOf, threadWriteOf } from '../../src/store/conversation/transfer-conversation.ts';
import { StoreNotEmptyError, TransferError, withKnownOwners } from '../../src/store/ports/transfer.ts';
import type { ConversationRecord, RecordOf, TransferRecord } from '../../src/store/transfer-records.ts';
import type { ModelThread } from './model-conversation.ts';
import { addProject, type ModelProject, ModelState } from './model-state.ts';
import type { ModelGroup, ModelUser, World } from './model-world.ts';
import { ascending } from './model-world.ts';

type Fields = Readonly<Record<string, unknown>>;

export async function* exportedOf(state: ModelState): AsyncGenerator<TransferRecord[]> {
  const projects = [...state.projects.values()];
  const all: TransferRecord[] = [
    ...Array.from(state.customers.values(), ({ createdAt: created_at, ...rest }) =>
      recordOf('customer', { ...rest, created_at }),
    ),
    ...projects.map(({ record }) => projectRecord(record)),
    ...[...state.sessions.values()].flatMap(({ project, id, expiresAt: expires_at, revoked }) => {
      const owner = state.projects.get(project)?.record.id;
      const fields = { project: owner, id, expires_at, revoked: revoked || null };
      return owner === undefined ? [] : [recordOf('session', fields)];
    }),
    ...projects.flatMap(({ record: { id }, world }) => Array.from(world.users.values(), userRecord(id))),
    ...projects.flatMap(({ record: { id }, world }) => Array.from(world.groups, groupRecord(id))),
    ...projects.flatMap(({ record: { id }, world }) => membersRecords(id, world)),
    ...projects.flatMap(({ record: { id }, world }) => presenceRecords(id, world)),
    ...projects.flatMap(({ record: { id }, world }) => Array.from(world.threads.values(), threadRecord(id))),
    ...projects.flatMap(({ record: { id }, world }) => participantRecords(id, world)),
    ...projects.flatMap(({ record: { id }, world }) => messageRecords(id, world)),
  ];
  yield [{ type: 'service_key', key: Buffer.from(state.serviceKey).toString('base64') }];
  for (const record of all) yield [record];
}

/** Without the fields that are null. */
const recordOf = (type: TransferRecord['type'], fields: Fields) =>
  ({
    type,
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)),
  }) as unknown as TransferRecord;

function projectRecord({ id, customerId, name, secret, ...rest }: ModelProject['record']): TransferRecord {
  const previous = { previous_secret: rest.previousSecret, previous_valid_until: rest.previousValidUntil };
  return recordOf('project', {
    id,
    customer_id: customerId,
    name,
    secret,
    ...previous,
    created_at: rest.createdAt,
  });
}

/** What users and groups have in common, defaults left out. */
const shared = ({ name, status, metadata, revision }: ModelUser | ModelGroup) => ({
  name,
  status: status === 'active' ? null : status,
  metadata: metadata === '{}' ? null : JSON.parse(metadata),
  revision,
});

const userRecord = (project: string) => (user: ModelUser) =>
  recordOf('user', {
    ...{ project, id: user.id, ...shared(user) },
    ...{ short_name: user.shortName, email: user.email, profile_picture_url: user.profilePictureUrl },
    ...{ created_at: user.createdAt, updated_at: user.updatedAt },
    send_via_messenger: user.channels.sendViaMessenger ? null : false,
    send_via_email: user.channels.sendViaEmail ? null : false,
  });

const groupRecord =
  (project: string) =>
  ([id, group]: [string, ModelGroup]) =>
    recordOf('group', { project, id, ...shared(group), workspace: group.workspace });

function membersRecords(project: string, { groups }: World): TransferRecord[] {
  return [...groups].flatMap(([group, { members }]) => {
    const users = ascending(members);
    const count = Math.ceil(users.length / 1_000);
    return Array.from({ length: count }, (_, index) =>
      recordOf('members', { project, group, users: users.slice(index * 1_000, (index + 1) * 1_000) }),
    );
  });
}

const presenceRecords = (project: string, { presence }: World): TransferRecord[] =>
  presence.map(({ groupId: group, userId: user, region, location, at: updated_at }) =>
    recordOf('durable_presence', {
      ...{ project, group, user, updated_at },
      ...{ region: JSON.parse(region), location: JSON.parse(location) },
    }),
  );

const threadRecord = (project: string) => (thread: ModelThread) =>
  recordOf('thread', {
    ...{ project, group: thread.groupId, id: thread.id, name: thread.name, url: thread.url },
    location: thread.location === null ? null : JSON.parse(thread.location),
    metadata: thread.metadata === '{}' ? null : JSON.parse(thread.metadata),
    ...{ created_at: thread.createdAt, resolved_at: thread.resolvedAt, revision: thread.revision },
  });

const participantRecords = (project: string, { threads }: World): TransferRecord[] =>
  [...threads.values()].flatMap(({ id: thread, seen }) =>
    Array.from(seen, ([user, last_seen_at]) =>
      recordOf('participant', { project, thread, user, last_seen_at }),
    ),
  );

const messageRecords = (project: string, { threads }: World): TransferRecord[] =>
  [...threads.values()].flatMap(({ id: thread, messages }) =>
    messages.map(({ id, authorId: author, type, content, url, metadata, ...message }) =>
      recordOf('message', {
        ...{ project, thread, id, author, message_type: type === 'user_message' ? null : type },
        ...{ content: JSON.parse(content), url, metadata: metadata === '{}' ? null : JSON.parse(metadata) },
        ...{ created_at: message.createdAt, updated_at: message.updatedAt, deleted_at: message.deletedAt },
        revision: message.revision,
      }),
    ),
  );

export async function importInto(
  state: ModelState,
  batches: AsyncIterable<readonly TransferRecord[]>,
): Promise<void> {
  if (state.customers.size + state.projects.size > 0) throw new StoreNotEmptyError();
  const draft = new ModelState(state.durableBounds);
  draft.serviceKey = state.serviceKey;
  for await (const batch of withKnownOwners(batches)) for (const record of batch) take(draft, record);
  Object.assign(state, draft);
}

function take(state: ModelState, record: TransferRecord): void {
  switch (record.type) {
    case 'service_key':
      state.serviceKey = Buffer.from(record.key, 'base64');
      return;
    case 'customer': {
      const { id, secret, name, created_at: createdAt } = record;
      add(state.customers, record, id, { id, secret, name, createdAt });
      return;
    }
    case 'project':
      takeProject(state, record);
      return;
    case 'session': {
      const { id, expires_at: expiresAt, revoked = false } = record;
      const project = projectOf(state, record.project)?.record.key as number;
      add(state.sessions, record, id, { id, project, expiresAt, revoked });
      return;
    }
    default:
      takeWithin((projectOf(state, record.project) as ModelProject).world, record);
  }
}

const projectOf = (state: ModelState, id: string) =>
  [...state.projects.values()].find(({ record }) => record.id === id);

function add<Value>(map: Map<string, Value>, record: TransferRecord, id: string, value: Value): void {
  if (map.has(id)) throw new TransferError('it is there twice', record);
  map.set(id, value);
}

function takeProject(state: ModelState, record: RecordOf<'project'>): void {
  if (projectOf(state, record.id) !== undefined) throw new TransferError('it is there twice', record);
  const { id, customer_id: customerId, name, secret, created_at: createdAt } = record;
  const { previous_secret: previousSecret = null, previous_valid_until: previousValidUntil = null } = record;
  addProject(state, { id, customerId, name, secret, previousSecret, previousValidUntil, createdAt });
}

type ProjectRecord = Exclude<
  TransferRecord,
  { readonly type: 'service_key' | 'customer' | 'project' | 'session' }
>;

function takeWithin(world: World, record: ProjectRecord): void {
  const { status = 'active', metadata = {} } = record as Partial<RecordOf<'group'>>;
  switch (record.type) {
    case 'user': {
      const { id, name = null, revision, created_at: createdAt, updated_at: updatedAt } = record;
      const texts = { shortName: record.short_name ?? null, email: record.email || null };
      const { send_via_messenger: sendViaMessenger = true, send_via_email: sendViaEmail = true } = record;
      add(world.users, record, id, {
        ...{ id, name, ...texts, profilePictureUrl: record.profile_picture_url ?? null, status, revision },
        ...{ metadata: JSON.stringify(metadata), createdAt, updatedAt },
        channels: { sendViaMessenger, sendViaEmail },
      });
      return;
    }
    case 'group': {
      const { id, name, workspace = null, revision } = record;
      const members = { members: new Set<string>(), incarnations: new Map<string, number>() };
      const fields = { name, status, metadata: JSON.stringify(metadata), workspace, revision };
      add(world.groups, record, id, { ...fields, ...members });
      return;
    }
    case 'members': {
      const group = world.groups.get(record.group);
      for (const user of record.users) {
        if (group === undefined || !world.users.has(user) || group.members.has(user))
          throw new TransferError('the member is not there, or twice', record);
        group.members.add(user);
        world.memberships += 1;
        group.incarnations.set(user, world.memberships);
      }
      return;
    }
    case 'durable_presence': {
      const { group: groupId, user: userId, updated_at: at } = record;
      const [region, location] = [canonicalLocation(record.region), canonicalLocation(record.location)];
      const isTaken = world.presence.some(
        (entry) => entry.groupId === groupId && entry.userId === userId && entry.region === region,
      );
      if (isTaken || world.groups.get(groupId)?.members.has(userId) !== true)
        throw new TransferError('the membership is not there, or the region twice', record);
      world.presence.push({ groupId, userId, region, location, at });
      return;
    }
    case 'webhook':
      // The model has no webhooks.
      return;
    default:
      takeConversation(world, record);
  }
}

function takeConversation(world: World, record: ConversationRecord): void {
  if (record.type === 'thread') {
    if (!world.groups.has(record.group)) throw new TransferError('the group is not there', record);
    const {
      groupId = '',
      name = '',
      url = null,
      location = null,
      metadata = '{}',
      ...times
    } = threadWriteOf(record);
    const { id, revision } = record;
    const { createdAt, resolvedAt = null } = times;
    world.threadsEver += 1;
    add(world.threads, record, id, {
      ...{ id, groupId, name, url, location, metadata, createdAt, resolvedAt, revision },
      ...{ arrival: world.threadsEver, arrivals: 0, messages: [], seen: new Map() },
    });
    return;
  }
  const thread = world.threads.get(record.thread);
  if (thread === undefined) throw new TransferError('the thread is not there', record);
  if (record.type === 'participant') {
    add(thread.seen, record, record.user, record.last_seen_at);
    return;
  }
  if (thread.messages.some(({ id }) => id === record.id))
    throw new TransferError('it is there twice', record);
  const {
    authorId,
    content,
    type = 'user_message',
    url = null,
    metadata = '{}',
    ...times
  } = messageWriteOf(record);
  const { createdAt, updatedAt = null, deletedAt = null } = times;
  const { id, revision } = record;
  thread.arrivals += 1;
  thread.messages.push({
    ...{ id, authorId, type, url, metadata, createdAt, updatedAt, deletedAt, revision },
    ...{ content: content.json, markdownLength: content.markdownLength, arrival: thread.arrivals },
  });
}
