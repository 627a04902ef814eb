import type { Status } from '@rollcall/protocol';
import { departed, NO_EFFECTS, preconditionFailure } from '../outcomes.ts';
import type {
  DeleteOutcome,
  GroupRecord,
  Page,
  PageRequest,
  ProjectKey,
  PutGroupOutcome,
  WriteContext,
  WriteStamp,
} from '../store.ts';
import type { StoredGroupWrite } from '../stored-write.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import { readFailure } from './sqlite-errors.ts';
import { toGroup } from './sqlite-group-row.ts';
import { readMembersInPieces } from './sqlite-member-pieces.ts';
import type { MembershipWrites, Replacement, UserCards } from './sqlite-members.ts';
import { toPage, UNPEEKED } from './sqlite-pages.ts';
import type { ReadStatement, SqliteReader } from './sqlite-reader.ts';
import { LongRead, type SnapshotPool } from './sqlite-snapshots.ts';

/** Largest member list that is read in one go, on the event loop: some 2 ms. */
const MEMBERS_AT_ONCE = 10_000;

const BOUNDARY = `SELECT id FROM groups WHERE project_no = ? AND id > ? ORDER BY id LIMIT 2 OFFSET ${UNPEEKED}`;
const PAGE = `
  SELECT group_concat('{"id":' || json_quote(id) || ',"name":' || json_quote(name) || ',"status":"' || status
      || '","metadata":' || metadata || ',"connectedToMessenger":' || iif(workspace IS NULL, 'false', 'true') || '}', ','),
    count(*)
  FROM (SELECT * FROM groups WHERE project_no = ? AND id > ? ORDER BY id LIMIT ${UNPEEKED})`;

/** Reads of groups, on the main thread. */
export function groupReads(reader: SqliteReader, snapshots: SnapshotPool) {
  const find = reader.prepare(`
    SELECT name, status, metadata, workspace IS NOT NULL, revision, member_count,
      CASE WHEN member_count <= ${MEMBERS_AT_ONCE}
        THEN (SELECT json_group_array(user_id) FROM memberships m WHERE m.group_no = g.group_no) END
    FROM groups g WHERE project_no = ? AND id = ?`);
  const exists = reader.prepare('SELECT 1 FROM groups WHERE project_no = ? AND id = ?');
  const statements = { page: reader.prepare(PAGE), boundary: reader.prepare(BOUNDARY) };

  return {
    async find(project: ProjectKey, id: string): Promise<GroupRecord | null> {
      const row = find.get(project, id);
      if (row === undefined) return null;
      return row[6] === null
        ? readMembersInPieces(snapshots, project, id)
        : toGroup(id, row, row[6] as string);
    },
    exists: (project: ProjectKey, id: string): boolean => exists.get(project, id) !== undefined,
    list: (project: ProjectKey, request: PageRequest): Page => readPage(statements, project, request),
    async *listAll(project: ProjectKey, request: PageRequest): AsyncGenerator<Page, void, void> {
      // A single page is of one state by itself, and needs no snapshot.
      const first = readPage(statements, project, request);
      if (first.last === null) yield first;
      else yield* listFromSnapshot(snapshots, project, request);
    },
  };
}

type PageStatements = { readonly page: ReadStatement; readonly boundary: ReadStatement };

function readPage(
  { page, boundary }: PageStatements,
  project: ProjectKey,
  { after, limit }: PageRequest,
): Page {
  const start = after ?? '';
  const row = page.get(project, start, limit) as Row;
  return toPage(row, limit, (offset) => boundary.all(project, start, offset));
}

async function* listFromSnapshot(
  snapshots: SnapshotPool,
  project: ProjectKey,
  { after, limit }: PageRequest,
): AsyncGenerator<Page, void, void> {
  const longRead = await LongRead.begin(snapshots);
  try {
    let from: string | null = after ?? '';
    while (from !== null) {
      // Each page is read on the event loop, which goes on in between.
      await new Promise(setImmediate);
      const statements = { page: longRead.statement(PAGE), boundary: longRead.statement(BOUNDARY) };
      const page = readPage(statements, project, { after: from, limit });
      yield page;
      from = page.last;
    }
  } catch (error) {
    throw readFailure(error);
  } finally {
    longRead.release();
  }
}

interface StoredGroup {
  readonly groupNo: number;
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly metadata: string;
  readonly memberCount: number;
  readonly revision: string;
}

/** Writes of groups, on the writer's thread. */
export class GroupWrites {
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #delete;
  readonly #connect;
  readonly #memberships: MembershipWrites;

  constructor(connection: SqliteConnection, memberships: MembershipWrites) {
    this.#memberships = memberships;
    this.#find = connection.prepare(`
      SELECT group_no, name, status, metadata, member_count, revision FROM groups WHERE project_no = ? AND id = ?`);
    this.#insert = connection.prepare(`
      INSERT INTO groups (project_no, id, name, status, metadata, member_count, revision) VALUES (?, ?, ?, ?, ?, ?, ?)`);
    this.#update = connection.prepare(
      'UPDATE groups SET name = ?, status = ?, metadata = ?, member_count = ?, revision = ? WHERE group_no = ?',
    );
    this.#delete = connection.prepare('DELETE FROM groups WHERE group_no = ?');
    this.#connect = connection.prepare(`
      UPDATE groups SET revision = iif((workspace IS NULL) = (?1 IS NULL), revision, ?2), workspace = ?1
      WHERE project_no = ?3 AND id = ?4`);
  }

  exists(project: ProjectKey, id: string): boolean {
    return this.#find.get(project, id) !== undefined;
  }

  /** `userCards` looks users up; a batch shares one among its groups. */
  put(
    project: ProjectKey,
    id: string,
    write: StoredGroupWrite,
    context: WriteContext,
    userCards: UserCards = this.#memberships.userCards(project),
  ): PutGroupOutcome {
    const group = this.#read(project, id);
    const name = write.name ?? group?.name;
    if (name === undefined) return { kind: context.ifMatch === undefined ? 'nameRequired' : 'stale' };
    const members =
      write.members === undefined ? null : this.#memberships.planReplacement(group, write.members, userCards);
    if (members !== null && members.unknown.count > 0)
      return { kind: 'unknownUsers', users: members.unknown.sample() };
    const failure = preconditionFailure(context, group?.revision ?? null);
    if (failure !== null) return failure;
    const after = {
      name,
      status: write.status ?? group?.status ?? 'active',
      metadata: write.metadata ?? group?.metadata ?? '{}',
      memberCount: members?.count ?? group?.memberCount ?? 0,
    };
    return group === null
      ? this.#create(project, id, after, members, context)
      : this.#change(group, after, members, context);
  }

  delete(project: ProjectKey, id: string, context: WriteContext): DeleteOutcome {
    const group = this.#read(project, id);
    if (preconditionFailure(context, group?.revision ?? null) !== null) return { kind: 'stale' };
    if (group === null) return { kind: 'absent' };
    const members = this.#memberships.removeGroupEverywhere(group);
    this.#delete.run(group.groupNo);
    return { kind: 'deleted', effects: departed(id, members) };
  }

  connect(project: ProjectKey, id: string, workspace: string | null, stamp: WriteStamp): boolean {
    return this.#connect.run(workspace, stamp.revision, project, id) > 0;
  }

  #read(project: ProjectKey, id: string): StoredGroup | null {
    const row = this.#find.get(project, id);
    if (row === undefined) return null;
    const [groupNo, name, status, metadata, memberCount, revision] = row as [
      number,
      string,
      Status,
      string,
      number,
      string,
    ];
    return { groupNo, id, name, status, metadata, memberCount, revision };
  }

  #create(
    project: ProjectKey,
    id: string,
    after: Pick<StoredGroup, 'name' | 'status' | 'metadata' | 'memberCount'>,
    members: Replacement | null,
    context: WriteContext,
  ): PutGroupOutcome {
    const { name, status, metadata, memberCount } = after;
    const groupNo = this.#insert.insert(project, id, name, status, metadata, memberCount, context.revision);
    if (members !== null) this.#memberships.replace({ groupNo, id }, members);
    return { kind: 'created', effects: NO_EFFECTS };
  }

  #change(
    before: StoredGroup,
    after: Pick<StoredGroup, 'name' | 'status' | 'metadata' | 'memberCount'>,
    members: Replacement | null,
    context: WriteContext,
  ): PutGroupOutcome {
    const { name, status, metadata, memberCount } = after;
    const sameMembers = members === null || members.added.size + members.removed.size === 0;
    if (sameMembers && name === before.name && status === before.status && metadata === before.metadata) {
      return { kind: 'unchanged', effects: NO_EFFECTS };
    }
    this.#update.run(name, status, metadata, memberCount, context.revision, before.groupNo);
    if (members !== null) this.#memberships.replace(before, members);
    const { id } = before;
    const effects = members === null ? NO_EFFECTS : departed(id, [...members.removed.keys()]);
    if (status === before.status) return { kind: 'updated', effects };
    const turned = status === 'deleted' ? { deactivatedGroups: [id] } : { reactivatedGroups: [id] };
    return { kind: 'updated', effects: { ...effects, ...turned } };
  }
}
