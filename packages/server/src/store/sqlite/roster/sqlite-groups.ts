import type { Json } from '../../../values/json.ts';
import type { Page, PageRequest } from '../../../values/page.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { groupRemovalChanges, membershipChanges, resourceChanges } from '../../changes/changes.ts';
import { columnsOf } from '../../columns.ts';
import { idSample, UNCHANGED } from '../../outcomes.ts';
import type { GroupRecord, GroupStore, PutGroupOutcome, StoredGroupWrite } from '../../ports/groups.ts';
import { preconditionFailure } from '../../precondition.ts';
import { GROUP_COLUMNS, type GroupFields } from '../../roster-columns.ts';
import type { ConditionalContext } from '../../write-context.ts';
import type { Row, SqliteConnection } from '../sqlite-connection.ts';
import type { Reads, Write } from '../sqlite-methods.ts';
import { TABLES_OF_GROUP } from '../sqlite-owned-tables.ts';
import { listedById, type PagedList, pagedList } from '../sqlite-pages.ts';
import type { SqliteReader } from '../sqlite-reader.ts';
import { LongRead, type SnapshotPool } from '../sqlite-snapshots.ts';
import type { MembershipWrites, UserCards } from './sqlite-members.ts';

/** Largest member list that is read in one event-loop tick: some 2 ms. */
const MEMBERS_AT_ONCE = 10_000;
/** Members of a longer one that are read in one event-loop tick: under a millisecond. */
const PIECE_MEMBERS = 5_000;

interface StoredGroup extends GroupFields {
  readonly groupNo: number;
  readonly memberCount: number;
}

const GROUP = columnsOf(GROUP_COLUMNS);
const STORED = columnsOf<StoredGroup>({
  ...GROUP_COLUMNS,
  groupNo: 'group_no',
  memberCount: 'member_count',
});
const FIND = `SELECT ${STORED.sql} FROM groups WHERE project_no = ? AND id = ?`;

const LIST = {
  entry: `'{"id":' || json_quote(id) || ',"name":' || json_quote(name) || ',"status":"' || status || '","metadata":'
    || metadata || ',"connectedToMessenger":' || iif(workspace IS NULL, 'false', 'true') || '}'`,
  from: 'groups',
  owner: 'project_no',
  id: 'id',
};
const MEMBER_IDS = { entry: 'json_quote(user_id)', from: 'memberships', owner: 'group_no', id: 'user_id' };

export function groupReads({ prepare }: SqliteReader, snapshots: SnapshotPool): Reads<'groups'> {
  const find = prepare(`
    SELECT ${GROUP.sql}, CASE WHEN member_count <= ${MEMBERS_AT_ONCE}
      THEN (SELECT json_group_array(user_id) FROM memberships m WHERE m.group_no = g.group_no) END
    FROM groups g WHERE project_no = ? AND id = ?`);
  const exists = prepare('SELECT 1 FROM groups WHERE project_no = ? AND id = ?');
  const readPage = pagedList(prepare, LIST);
  const byIds = listedById(prepare, LIST);

  return {
    async find(project, id) {
      const row = find.get(project, id);
      if (row === undefined) return null;
      const members = row.at(-1) as string | null;
      return members === null ? findLarge(snapshots, project, id) : toGroup(row, members);
    },
    exists: async (project, id) => exists.get(project, id) !== undefined,
    list: async (project, request) => readPage(project, request),
    listByIds: async (project, ids) => byIds(project, ids),
    async *listAll(project, request) {
      // A single page is of one state by itself, and needs no snapshot.
      const first = readPage(project, request);
      if (first.last === null) yield first;
      else yield* listFromSnapshot(snapshots, project, request);
    },
  };
}

/** The group of a row that begins with its columns. SQLite has a number for a comparison. */
function toGroup(row: Row, members: GroupRecord['members']): GroupRecord {
  const group = GROUP.toRecord(row);
  return { ...group, connectedToMessenger: Boolean(group.connectedToMessenger), members };
}

/** A group with many members: all of it from one snapshot, the members in pieces. Null when it is not there. */
async function findLarge(
  snapshots: SnapshotPool,
  project: ProjectKey,
  id: string,
): Promise<GroupRecord | null> {
  using unfinished = new DisposableStack();
  const longRead = unfinished.use(await LongRead.begin(snapshots));
  const row = longRead.prepare(FIND).get(project, id);
  if (row === undefined) return null;
  unfinished.move();
  const members = readMembers(longRead, STORED.toRecord(row).groupNo);
  // A generator that has not begun would not release the snapshot when its reader leaves.
  await members.next();
  return toGroup(row, members);
}

/** The members of a group as pieces of one JSON array, after a first piece that is empty. The snapshot ends with the iteration. */
async function* readMembers(longRead: LongRead, groupNo: number): AsyncGenerator<Json, void, void> {
  try {
    yield '';
    let before = '[';
    for await (const { items } of pagesOf(longRead, MEMBER_IDS, groupNo, {
      after: null,
      limit: PIECE_MEMBERS,
    })) {
      yield `${before}${items}`;
      before = ',';
    }
  } finally {
    longRead.release();
  }
  yield ']';
}

async function* listFromSnapshot(
  snapshots: SnapshotPool,
  project: ProjectKey,
  request: PageRequest,
): AsyncGenerator<Page, void, void> {
  using longRead = await LongRead.begin(snapshots);
  yield* pagesOf(longRead, LIST, project, request);
}

/** The pages of a list, each in an event-loop tick of its own. */
async function* pagesOf(
  longRead: LongRead,
  list: PagedList,
  owner: ProjectKey,
  request: PageRequest,
): AsyncGenerator<Page, void, void> {
  for (let { after } = request; ; ) {
    await new Promise(setImmediate);
    const page = pagedList(longRead.prepare, list)(owner, { ...request, after });
    yield page;
    if (page.last === null) return;
    after = page.last;
  }
}

/** Writes of groups, on the writer's thread. */
export class GroupWrites {
  readonly #removals;
  readonly #statements;
  readonly #memberships: MembershipWrites;

  constructor({ prepare }: SqliteConnection, memberships: MembershipWrites) {
    this.#memberships = memberships;
    this.#removals = TABLES_OF_GROUP.map(([table]) => prepare(`DELETE FROM ${table} WHERE group_no = ?`));
    this.#statements = {
      find: prepare(FIND),
      insert: prepare(`
        INSERT INTO groups (name, status, metadata, member_count, revision, project_no, id)
        VALUES (?, ?, ?, ?, ?, ?, ?)`),
      update: prepare(`
        UPDATE groups SET name = ?, status = ?, metadata = ?, member_count = ?, revision = ? WHERE group_no = ?`),
      delete: prepare('DELETE FROM groups WHERE group_no = ?'),
      leaveConversation: prepare('UPDATE conversations SET group_no = NULL WHERE group_no = ?'),
      connect: prepare('UPDATE groups SET workspace = ?, revision = ? WHERE group_no = ?'),
    };
  }

  exists(project: ProjectKey, id: string): boolean {
    return this.#statements.find.get(project, id) !== undefined;
  }

  /** `userCards` reads users; a batch shares one among its groups. */
  put(
    project: ProjectKey,
    id: string,
    write: StoredGroupWrite,
    context: ConditionalContext,
    userCards: UserCards = this.#memberships.userCards(project),
  ): PutGroupOutcome {
    const before = this.#find(project, id);
    const name = write.name ?? before?.name;
    if (name === undefined && context.ifMatch === undefined) return { kind: 'nameRequired' };
    const members = write.members && this.#memberships.planReplacement(before, write.members, userCards);
    if (members !== undefined && members.unknown.length > 0)
      return { kind: 'unknownUsers', users: idSample(members.unknown) };
    if (name === undefined) return { kind: 'stale' };
    const failure = preconditionFailure(context, before?.revision ?? null);
    if (failure !== null) return failure;
    const status = write.status ?? before?.status ?? 'active';
    const metadata = write.metadata ?? before?.metadata ?? '{}';
    const fields = [];
    if (name !== before?.name) fields.push('name');
    if (metadata !== before?.metadata) fields.push('metadata');
    const changes = [
      ...resourceChanges('group', id, before?.status ?? null, status, fields),
      ...membershipChanges(id, members?.added.keys() ?? [], members?.removed ?? []),
    ];
    if (changes.length === 0) return UNCHANGED;
    const count = members?.count ?? before?.memberCount ?? 0;
    const values = [name, status, metadata, count, context.revision] as const;
    const groupNo = before?.groupNo ?? this.#statements.insert.insert(...values, project, id);
    if (before !== null) this.#statements.update.run(...values, groupNo);
    if (members !== undefined) this.#memberships.replace({ groupNo, id }, members);
    return { kind: before === null ? 'created' : 'updated', changes };
  }

  readonly delete: Write<GroupStore['delete']> = (project, id, context) => {
    const group = this.#find(project, id);
    if (preconditionFailure(context, group?.revision ?? null) !== null) return { kind: 'stale' };
    if (group === null) return { kind: 'absent' };
    const members = this.#memberships.removeGroupEverywhere(group);
    for (const removal of this.#removals) removal.run(group.groupNo);
    this.#statements.leaveConversation.run(group.groupNo);
    this.#statements.delete.run(group.groupNo);
    return { kind: 'deleted', changes: groupRemovalChanges(id, members) };
  };

  readonly connect: Write<GroupStore['connect']> = (project, id, workspace, { revision }) => {
    const group = this.#find(project, id);
    if (group === null) return { kind: 'absent' };
    const isChange = (workspace !== null) !== Boolean(group.connectedToMessenger);
    this.#statements.connect.run(workspace, isChange ? revision : group.revision, group.groupNo);
    if (!isChange) return UNCHANGED;
    const change = { type: 'group.updated', group: id, fields: ['connectedToMessenger'] } as const;
    return { kind: 'updated', changes: [change] };
  };

  #find(project: ProjectKey, id: string): StoredGroup | null {
    return STORED.toFound(this.#statements.find.get(project, id));
  }
}
