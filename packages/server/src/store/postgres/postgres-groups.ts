import { NO_EFFECTS, preconditionFailure } from '../outcomes.ts';
import type {
  GroupRecord,
  Page,
  PageRequest,
  ProjectKey,
  PutGroupOutcome,
  WriteContext,
  WriteStamp,
} from '../store.ts';
import type { StoredGroupWrite } from '../stored-write.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { Attempt, PostgresDatabase } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import type { LongReads } from './connections/postgres-snapshots.ts';
import { toGroup } from './postgres-group-row.ts';
import { readMembersInPieces } from './postgres-member-pieces.ts';
import {
  ALIVE,
  assertAlive,
  meetsPrecondition,
  preconditionParameters,
  turnedGroup,
} from './postgres-outcomes.ts';
import { pageSql, toEndlessPage } from './postgres-pages.ts';

/** Largest member list that is read in one piece. */
const MEMBERS_AT_ONCE = 10_000;

const FIND = `
  SELECT name, status, metadata, workspace IS NOT NULL, revision,
    CASE WHEN member_count <= ${MEMBERS_AT_ONCE} THEN array_to_json(ARRAY(
      SELECT user_id FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 ORDER BY user_id))::text END
  FROM groups WHERE project_id = $1 AND id = $2`;

const EXISTS = 'SELECT 1 FROM groups WHERE project_id = $1 AND id = $2';

const LIST = pageSql({
  rows: 'SELECT * FROM groups WHERE project_id = $1 AND id > $2',
  entry: `'{"id":' || to_json(page.id)::text || ',"name":' || to_json(page.name)::text
    || ',"status":"' || page.status || '","metadata":' || page.metadata
    || ',"connectedToMessenger":' || CASE WHEN page.workspace IS NULL THEN 'false' ELSE 'true' END || '}'`,
  limit: '$3',
  total: 'NULL',
});

/** Reads of groups. */
export function groupReads(database: PostgresDatabase, longReads: LongReads) {
  const list = async (project: ProjectKey, { after, limit }: PageRequest): Promise<Page> => {
    const [row] = await database.read(LIST, project, after ?? '', limit);
    return toEndlessPage(row as Row);
  };
  return {
    async find(project: ProjectKey, id: string): Promise<GroupRecord | null> {
      const [row] = await database.read(FIND, project, id);
      if (row === undefined) return null;
      return row[5] === null
        ? readMembersInPieces(longReads, project, id)
        : toGroup(id, row, row[5] as string);
    },
    async exists(project: ProjectKey, id: string): Promise<boolean> {
      return (await database.read(EXISTS, project, id)).length > 0;
    },
    list,
    async *listAll(project: ProjectKey, { after, limit }: PageRequest): AsyncGenerator<Page, void, void> {
      // A single page is of one state by itself, and needs no snapshot.
      const first = await list(project, { after, limit });
      if (first.last === null) yield first;
      else yield* listFromSnapshot(longReads, project, { after, limit });
    },
  };
}

async function* listFromSnapshot(
  longReads: LongReads,
  project: ProjectKey,
  { after, limit }: PageRequest,
): AsyncGenerator<Page, void, void> {
  const snapshot = await longReads.snapshot(project);
  try {
    let from: string | null = after ?? '';
    while (from !== null) {
      const [row] = await snapshot.read(LIST, project, from, limit);
      const page = toEndlessPage(row as Row);
      yield page;
      from = page.last;
    }
  } finally {
    snapshot.release();
  }
}

const UPDATE = `
  WITH before AS (
    SELECT name, status, metadata, revision FROM groups WHERE project_id = $1 AND id = $2 AND ${ALIVE} FOR UPDATE),
  changed AS (
    UPDATE groups g SET name = coalesce($3::text, g.name), status = coalesce($4::text, g.status),
      metadata = coalesce($5::text, g.metadata), revision = $6
    FROM before
    WHERE g.project_id = $1 AND g.id = $2 AND ${meetsPrecondition('before.revision', '$7', '$8', '$9')}
      AND (before.name <> $3::text OR before.status <> $4::text OR before.metadata <> $5::text)
    RETURNING 1)
  SELECT ${ALIVE}, before.status, before.revision, EXISTS (SELECT 1 FROM changed)
  FROM (SELECT 1) one LEFT JOIN before ON TRUE`;

const INSERT = `
  WITH made AS (
    INSERT INTO groups (project_id, id, name, status, metadata, member_count, revision)
    SELECT $1, $2, $3, coalesce($4::text, 'active'), coalesce($5::text, '{}'), 0, $6 WHERE ${ALIVE}
    ON CONFLICT (project_id, id) DO NOTHING RETURNING 1)
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM made)`;

/** A write without a list of members: one statement where the group is there, two where it is created. */
export async function putGroupFields(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  { name, status, metadata }: StoredGroupWrite,
  context: WriteContext,
): Promise<PutGroupOutcome> {
  const fields = [name ?? null, status ?? null, metadata ?? null];
  const { revision } = context;
  const [updated] = await attempt.run(
    ...([UPDATE, project, id, ...fields, revision, ...preconditionParameters(context)] as const),
  );
  const [alive, statusBefore, before, changed] = updated as Row;
  assertAlive(alive);
  if (before === null && name === undefined && context.ifMatch === undefined) return { kind: 'nameRequired' };
  const failure = preconditionFailure(context, before as string | null);
  if (failure !== null) return failure;
  if (before !== null) {
    return {
      kind: changed === true ? 'updated' : 'unchanged',
      effects: turnedGroup(id, statusBefore, status),
    };
  }
  const [inserted] = await attempt.run(INSERT, project, id, ...fields, revision);
  assertAlive(inserted?.[0]);
  if (inserted?.[1] !== true) throw new LostRaceError('the group was created meanwhile');
  return { kind: 'created', effects: NO_EFFECTS };
}

const CONNECT = `
  WITH changed AS (
    UPDATE groups SET revision = CASE WHEN (workspace IS NULL) = ($3::text IS NULL) THEN revision ELSE $4 END,
      workspace = $3::text
    WHERE project_id = $1 AND id = $2 AND ${ALIVE} RETURNING 1)
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM changed)`;

export async function connectGroup(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  workspace: string | null,
  { revision }: WriteStamp,
): Promise<boolean> {
  const [row] = await attempt.run(CONNECT, project, id, workspace, revision);
  assertAlive(row?.[0]);
  return row?.[1] === true;
}
