/** What PostgreSQL or Redis is called for in place of an operation, pipelined, by something that is no Rollcall. */
import pg from 'pg';
import { bytesArray } from '../packages/server/src/store/postgres/postgres-text.ts';
import {
  locationKey,
  pairKeys,
} from '../packages/server/src/store/postgres/presence/postgres-location-keys.ts';
import { openPresenceCall } from './presence-call.ts';
import { rowsOf } from './scale-out-servers.ts';

export interface BareTarget {
  readonly what: 'select' | 'update' | 'members' | 'durable' | 'evalsha';
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The store's key of the project. */
  readonly project: string;
  readonly groups: readonly string[];
  /** A member of each of the groups. */
  readonly members: readonly string[];
  /** Two users whom no server knows and no other client uses, so that what those have stays as it is. */
  readonly users: readonly [string, string];
}

export type BareCall = (step: number) => Promise<unknown>;

/** As many connections as the driver has for reads. */
const CONNECTIONS = 4;
/** The rows that GET group reads, in one prepared statement. */
const SELECT = `
  SELECT name, status, metadata, workspace IS NOT NULL, revision, array_to_json(ARRAY(
    SELECT user_id FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 ORDER BY user_id))::text
  FROM groups WHERE project_id = $1 AND id = $2`;
const UPDATE = 'UPDATE groups SET name = $3, revision = $4 WHERE project_id = $1 AND id = $2';
/** The record of a write, as a part of its statement: the change that the parameter has, if it is one. */
const recorded = (parameter: string) => `
  INSERT INTO written_changes (project_id, at, actor, request_id, changes)
  SELECT $1, 1, 'project_token:bench', 'bare', ARRAY[made.text] FROM (SELECT ${parameter}::text) AS made(text)
  WHERE made.text IS NOT NULL`;
/** The rows that POST members changes where it replaces the member $3 by $4. */
const MEMBERS = `
  WITH gone AS (DELETE FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id = $3),
  added AS (INSERT INTO memberships (project_id, group_id, user_id) VALUES ($1, $2, $4)),
  updated AS (UPDATE groups SET revision = $5, member_count = member_count + 0 WHERE project_id = $1 AND id = $2)
  ${recorded('$6')}`;
/** The rows that a durable update changes: a location, its pairs $8, and what is counted of the user. */
const DURABLE = `
  WITH counted AS (
    INSERT INTO durable_usage (project_id, group_id, user_id, locations, bytes, latest_at, counted_at)
    VALUES ($1, $2, $3, 1, octet_length($7::text), $9, $9)
    ON CONFLICT (project_id, group_id, user_id) DO UPDATE SET latest_at = excluded.latest_at),
  put AS (
    INSERT INTO durable_presence (project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $9)
    ON CONFLICT (project_id, group_id, user_id, region_hash) DO UPDATE SET
      location_hash = excluded.location_hash, location = excluded.location, updated_at = excluded.updated_at),
  pairs AS (
    INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
    SELECT $1, $2, $3, $4, pair.hash, $8::bytea[], $9 FROM unnest($8::bytea[]) AS pair(hash)
    ON CONFLICT (project_id, group_id, user_id, region_hash, pair_hash) DO UPDATE SET
      pair_hashes = excluded.pair_hashes, updated_at = excluded.updated_at),
  gone AS (
    DELETE FROM durable_pairs WHERE project_id = $1 AND group_id = $2 AND user_id = $3 AND region_hash = $4
      AND pair_hash <> ALL($8::bytea[]))
  ${recorded('$10')}`;

const groupOf = ({ groups }: BareTarget, step: number) => groups[step % groups.length] as string;

async function postgresCall(
  { databaseUrl }: BareTarget,
  name: string,
  text: string,
  values: (step: number) => unknown[],
): Promise<BareCall> {
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const config = { connectionString: databaseUrl, pipeline: true };
      const client = new pg.Client(config as pg.ClientConfig);
      await client.connect();
      return client;
    }),
  );
  return (step) =>
    (clients[step % CONNECTIONS] as pg.Client).query({
      name,
      text,
      values: values(step),
      rowMode: 'array',
    });
}

async function evalshaCall(plan: BareTarget): Promise<BareCall> {
  const call = await openPresenceCall(plan.redisUrl, plan.project);
  return (step) => {
    const userId = plan.members[step % plan.members.length] as string;
    const position = { region: '{"page":"bare"}', location: '{"page":"bare","paragraph":"paragraph-0"}' };
    return call([{ groupId: groupOf(plan, step), userId, ...position }]);
  };
}

/** The groups in which the second of the users is a member, and not the first. */
const swapped = new Set<string>();

function membersValues(plan: BareTarget, step: number): unknown[] {
  const group = groupOf(plan, step);
  const isSwapped = swapped.delete(group);
  if (!isSwapped) swapped.add(group);
  const [first, second] = plan.users;
  const [leaving, joining] = isSwapped ? [second, first] : [first, second];
  const changes = JSON.stringify([
    { type: 'member.added', group, users: [joining] },
    { type: 'member.removed', group, users: [leaving] },
  ]);
  return [plan.project, group, leaving, joining, `b${step}`, changes];
}

/** Makes the first of the users the member in each group, whatever a bare client before has left. */
async function membersCall(plan: BareTarget): Promise<BareCall> {
  const { databaseUrl, project, groups, users } = plan;
  await rowsOf(
    databaseUrl,
    'DELETE FROM memberships WHERE project_id = $1 AND user_id = ANY($2)',
    project,
    users,
  );
  await rowsOf(
    databaseUrl,
    'INSERT INTO memberships (project_id, group_id, user_id) SELECT $1, unnest($2::text[]), $3',
    ...[project, groups, users[0]],
  );
  return postgresCall(plan, 'bare_members', MEMBERS, (step) => membersValues(plan, step));
}

/** Of 20 updates 7 move, as those of the load. */
function durableValues(plan: BareTarget, step: number): unknown[] {
  const group = groupOf(plan, step);
  const [region, paragraph] = ['{"page":"bare"}', `paragraph-${Math.floor((step * 7) / 20)}`];
  const location = JSON.stringify({ page: 'bare', paragraph });
  const isMove = (step * 7) % 20 < 7;
  const moved = isMove
    ? JSON.stringify([{ type: 'durable_presence.moved', group, user: plan.users[0] }])
    : null;
  const row = [locationKey(region), region, locationKey(location), location, bytesArray(pairKeys(location))];
  return [plan.project, group, plan.users[0], ...row, step, moved];
}

const CALLS: Readonly<Record<BareTarget['what'], (plan: BareTarget) => Promise<BareCall>>> = {
  select: (plan) => postgresCall(plan, 'bare_select', SELECT, (step) => [plan.project, groupOf(plan, step)]),
  update: (plan) =>
    postgresCall(plan, 'bare_update', UPDATE, (step) => [
      ...[plan.project, groupOf(plan, step), `Bare ${step}`, `b${step}`],
    ]),
  members: membersCall,
  durable: (plan) => postgresCall(plan, 'bare_durable', DURABLE, (step) => durableValues(plan, step)),
  evalsha: evalshaCall,
};

/** Connects, and gives what makes the call of a step. */
export const bareCall = (plan: BareTarget): Promise<BareCall> => CALLS[plan.what](plan);
