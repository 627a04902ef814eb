/**
 * The rate of PostgreSQL or Redis for a client that does nothing else: as many callers as the HTTP load has connections, each
 * with one call at a time, sent pipelined. Reads a {@link BarePlan} from the file named by its argument; prints
 * `{"requestsPerSecond": …}`.
 */
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { openPresenceCall } from './presence-call.ts';

export interface BarePlan {
  readonly what: 'select' | 'update' | 'evalsha';
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The store's key of the project. */
  readonly project: string;
  readonly groups: readonly string[];
  /** A member of each of the groups. */
  readonly members: readonly string[];
  readonly callers: number;
  readonly seconds: number;
}

type Call = (step: number) => Promise<unknown>;

/** As many connections as the driver has for reads. */
const CONNECTIONS = 4;
/** The rows that GET group reads, in one prepared statement. */
const SELECT = `
  SELECT name, status, metadata, workspace IS NOT NULL, revision, array_to_json(ARRAY(
    SELECT user_id FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 ORDER BY user_id))::text
  FROM groups WHERE project_id = $1 AND id = $2`;
const UPDATE = 'UPDATE groups SET name = $3, revision = $4 WHERE project_id = $1 AND id = $2';

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as BarePlan;
const groupOf = (step: number) => plan.groups[step % plan.groups.length] as string;

async function postgresCall(name: string, text: string, values: (step: number) => unknown[]): Promise<Call> {
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const config = { connectionString: plan.databaseUrl, pipeline: true };
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

async function evalshaCall(): Promise<Call> {
  const call = await openPresenceCall(plan.redisUrl, plan.project);
  return (step) => {
    const userId = plan.members[step % plan.members.length] as string;
    const position = { region: '{"page":"bare"}', location: '{"page":"bare","paragraph":"paragraph-0"}' };
    return call([{ groupId: groupOf(step), userId, ...position }]);
  };
}

const CALLS: Readonly<Record<BarePlan['what'], () => Promise<Call>>> = {
  select: () => postgresCall('bare_select', SELECT, (step) => [plan.project, groupOf(step)]),
  update: () =>
    postgresCall('bare_update', UPDATE, (step) => [plan.project, groupOf(step), `Bare ${step}`, `b${step}`]),
  evalsha: evalshaCall,
};

const call = await CALLS[plan.what]();
const begin = performance.now();
const end = begin + plan.seconds * 1_000;
let calls = 0;
await Promise.all(
  Array.from({ length: plan.callers }, async (_, caller) => {
    // Each caller begins elsewhere, so that no two update one row at once.
    let step = Math.floor((caller * plan.groups.length) / plan.callers);
    while (performance.now() < end) {
      await call(step);
      step += 1;
      calls += 1;
    }
  }),
);
const requestsPerSecond = (calls * 1_000) / (performance.now() - begin);
process.stdout.write(`${JSON.stringify({ requestsPerSecond })}\n`, () => process.exit(0));
