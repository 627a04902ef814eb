import { randomUUID } from 'node:crypto';
import type { CarriedRecord, CarryCounts, WriteStamp } from '../store.ts';
import type { Row } from './postgres-connection.ts';
import type { PostgresDatabase, Transaction } from './postgres-database.ts';
import { pairKeys, placeKey } from './postgres-place-keys.ts';
import { bytesArray, plainArray, textArray } from './postgres-text.ts';

type Type = CarriedRecord['type'];
type Of<Wanted extends Type> = Extract<CarriedRecord, { type: Wanted }>;

/** Writes records of one type of which no two are about the same; the places, from 0 on, of those that had what they are about. */
type Write<Wanted extends Type> = (
  transaction: Transaction,
  records: readonly Of<Wanted>[],
  stamp: WriteStamp,
) => Promise<Iterable<number>>;

/** Writes what another store's `carryOut` gave: all or nothing, each run of records of one type at once. */
export function carryIn(
  database: PostgresDatabase,
  records: readonly CarriedRecord[],
  stamp: WriteStamp,
): Promise<CarryCounts> {
  return database.operation((attempt) =>
    attempt.transaction('large', async (transaction) => {
      let written = 0;
      for (const run of runsOf(records)) written += await writeRun(transaction, run, stamp);
      await transaction.commit();
      return { written, skipped: records.length - written };
    }),
  );
}

/** Records of one type that follow each other: what comes later may build on what was before. */
function runsOf(records: readonly CarriedRecord[]): CarriedRecord[][] {
  const runs: CarriedRecord[][] = [];
  for (const record of records) {
    const run = runs.at(-1);
    if (run?.[0]?.type === record.type) run.push(record);
    else runs.push([record]);
  }
  return runs;
}

async function writeRun(
  transaction: Transaction,
  run: readonly CarriedRecord[],
  stamp: WriteStamp,
): Promise<number> {
  // Of those about the same, the last stands.
  const byKey = Map.groupBy(run, keyOf);
  const last = [...byKey.values()].map((same) => same.at(-1) as CarriedRecord);
  const write = WRITES[last[0]?.type as Type] as Write<Type>;
  const counts = [...byKey.values()].map(({ length }) => length);
  let written = 0;
  for (const place of await write(transaction, last, stamp)) written += counts[place] as number;
  return written;
}

/** A text that two records of one type share when they are about the same. */
function keyOf(record: CarriedRecord): string {
  const { id, projectId, groupId, userId, region } = record as Partial<Record<string, unknown>>;
  return JSON.stringify([id, projectId, groupId, userId, region]);
}

const PUT_SERVICE_KEY = `
  INSERT INTO store_secrets (name, value) VALUES ('service_key', $1)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

const PUT_CUSTOMERS = `
  INSERT INTO customers (id, secret, name, created_at)
  SELECT w.id, w.secret, w.name, w.created_at
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS w(id, secret, name, created_at)
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (id) DO UPDATE SET secret = excluded.secret, name = excluded.name, created_at = excluded.created_at`;

/** Places, from 1 on, of the projects whose customers are there. */
const FIND_CUSTOMERS = `
  SELECT w.place FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place) JOIN customers c ON c.id = w.id`;

const PUT_PROJECTS = `
  INSERT INTO projects (project_id, id, customer_id, name, secret, previous_secret, previous_valid_until, created_at)
  SELECT w.* FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[])
    AS w(project_id, id, customer_id, name, secret, previous_secret, previous_valid_until, created_at)
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (id) DO UPDATE SET customer_id = excluded.customer_id, name = excluded.name, secret = excluded.secret,
    previous_secret = excluded.previous_secret, previous_valid_until = excluded.previous_valid_until,
    created_at = excluded.created_at`;

/** Holds the projects $1: (place from 1 on, key) of those that are there. */
const HOLD_PROJECTS = `
  SELECT w.place, p.project_id FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place) JOIN projects p ON p.id = w.id
  ORDER BY p.project_id FOR KEY SHARE OF p`;

const PUT_SESSIONS = `
  INSERT INTO sessions (id, project_id, expires_at, revoked)
  SELECT w.* FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::boolean[]) AS w(id, project_id, expires_at, revoked)
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (id) DO UPDATE SET project_id = excluded.project_id, expires_at = excluded.expires_at,
    revoked = excluded.revoked`;

/** The numbers that these give are the places, from 0 on, that $1 has. */
const PUT_PREFERENCES = `
  UPDATE users u SET send_via_messenger = w.messenger, send_via_email = w.email
  FROM unnest($1::int[], $2::uuid[], $3::text[], $4::boolean[], $5::boolean[])
    AS w(place, project_id, user_id, messenger, email)
  WHERE u.project_id = w.project_id AND u.id = w.user_id RETURNING w.place`;
const PUT_WORKSPACES = `
  UPDATE groups g SET workspace = w.workspace,
    revision = CASE WHEN g.workspace IS NULL THEN $5 ELSE g.revision END
  FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[]) AS w(place, project_id, group_id, workspace)
  WHERE g.project_id = w.project_id AND g.id = w.group_id RETURNING w.place`;
const HOLD_MEMBERSHIPS = `
  SELECT w.place FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[]) AS w(place, project_id, group_id, user_id)
    JOIN memberships m ON m.project_id = w.project_id AND m.group_id = w.group_id AND m.user_id = w.user_id
  ORDER BY m.project_id, m.group_id, m.user_id FOR KEY SHARE OF m`;

const PUT_PRESENCE = `
  INSERT INTO durable_presence (project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
  SELECT w.* FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bytea[], $7::text[], $8::bigint[])
    AS w(project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
  ORDER BY w.project_id, w.group_id COLLATE "C", w.user_id COLLATE "C", w.region_hash
  ON CONFLICT (project_id, group_id, user_id, region_hash) DO UPDATE SET location_hash = excluded.location_hash,
    location = excluded.location, previous_location = NULL, updated_at = excluded.updated_at`;
const REMOVE_PAIRS = `
  DELETE FROM durable_pairs d USING unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[])
    AS w(project_id, group_id, user_id, region_hash)
  WHERE d.project_id = w.project_id AND d.group_id = w.group_id AND d.user_id = w.user_id
    AND d.region_hash = w.region_hash`;
/** The pairs of a place are an array each, and stand together as text: an array of arrays would want equal lengths. */
const PUT_PAIRS = `
  INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
  SELECT w.project_id, w.group_id, w.user_id, w.region_hash, w.pair_hash, w.pair_hashes::bytea[], w.updated_at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[], $7::bigint[])
    AS w(project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)`;

/** The values of a column. */
const texts = <Item>(items: readonly Item[], value: (item: Item) => string | null) =>
  textArray(items.map(value));
const plain = <Item>(items: readonly Item[], value: (item: Item) => number | boolean | null) =>
  plainArray(items.map(value));

/** A record whose project is there. */
interface Placed<Wanted extends Type> {
  readonly place: number;
  readonly project: string;
  readonly record: Of<Wanted>;
}

async function placed<Wanted extends Extract<CarriedRecord, { projectId: string }>['type']>(
  transaction: Transaction,
  records: readonly Of<Wanted>[],
): Promise<Placed<Wanted>[]> {
  const ids = textArray(records.map((record) => (record as { projectId: string }).projectId));
  const [rows] = await transaction.run([HOLD_PROJECTS, ids]);
  return rows.map(([place, project]) => ({
    place: (place as number) - 1,
    project: project as string,
    record: records[(place as number) - 1] as Of<Wanted>,
  }));
}

const numbersOf = (rows: readonly Row[]): number[] => rows.map(([place]) => place as number);

const WRITES: { readonly [Wanted in Type]: Write<Wanted> } = {
  async serviceKey(transaction, [record]) {
    await transaction.run([PUT_SERVICE_KEY, Buffer.from(record?.key as string, 'base64')]);
    return [0];
  },

  async customer(transaction, customers) {
    const columns = [
      ...(['id', 'secret', 'name'] as const).map((field) => texts(customers, (customer) => customer[field])),
      plain(customers, ({ createdAt }) => createdAt),
    ];
    await transaction.run([PUT_CUSTOMERS, ...columns]);
    return customers.keys();
  },

  async project(transaction, projects) {
    const [rows] = await transaction.run([FIND_CUSTOMERS, texts(projects, ({ customerId }) => customerId)]);
    const places = numbersOf(rows).map((place) => place - 1);
    const found = places.map((place) => projects[place] as Of<'project'>);
    const fields = ['id', 'customerId', 'name', 'secret', 'previousSecret'] as const;
    await transaction.run([
      PUT_PROJECTS,
      texts(found, () => randomUUID()),
      ...fields.map((field) => texts(found, (project) => project[field])),
      plain(found, ({ previousValidUntil }) => previousValidUntil),
      plain(found, ({ createdAt }) => createdAt),
    ]);
    return places;
  },

  async session(transaction, records) {
    const sessions = await placed(transaction, records);
    await transaction.run([
      PUT_SESSIONS,
      texts(sessions, ({ record }) => record.id),
      texts(sessions, ({ project }) => project),
      plain(sessions, ({ record }) => record.expiresAt),
      plain(sessions, ({ record }) => record.revoked),
    ]);
    return sessions.map(({ place }) => place);
  },

  async preferences(transaction, records) {
    const found = await placed(transaction, records);
    const [rows] = await transaction.run([
      PUT_PREFERENCES,
      plain(found, ({ place }) => place),
      texts(found, ({ project }) => project),
      texts(found, ({ record }) => record.userId),
      plain(found, ({ record }) => record.sendViaMessenger),
      plain(found, ({ record }) => record.sendViaEmail),
    ]);
    return numbersOf(rows);
  },

  async workspace(transaction, records, { revision }) {
    const found = await placed(transaction, records);
    const [rows] = await transaction.run([
      PUT_WORKSPACES,
      plain(found, ({ place }) => place),
      texts(found, ({ project }) => project),
      texts(found, ({ record }) => record.groupId),
      texts(found, ({ record }) => record.workspace),
      revision,
    ]);
    return numbersOf(rows);
  },

  async durablePresence(transaction, records) {
    const found = await placed(transaction, records);
    const [rows] = await transaction.run([
      HOLD_MEMBERSHIPS,
      plain(found, ({ place }) => place),
      ...membershipColumns(found),
    ]);
    const places = new Set(numbersOf(rows));
    const members = found.filter(({ place }) => places.has(place));
    const regions = [
      ...membershipColumns(members),
      bytesArray(members.map(({ record }) => placeKey(record.region))),
    ];
    await transaction.run(
      [
        PUT_PRESENCE,
        ...regions,
        texts(members, ({ record }) => record.region),
        bytesArray(members.map(({ record }) => placeKey(record.location))),
        texts(members, ({ record }) => record.location),
        plain(members, ({ record }) => record.at),
      ],
      [REMOVE_PAIRS, ...regions],
      [PUT_PAIRS, ...pairColumns(members)],
    );
    return places;
  },
};

const membershipColumns = (records: readonly Placed<'durablePresence'>[]) => [
  texts(records, ({ project }) => project),
  texts(records, ({ record }) => record.groupId),
  texts(records, ({ record }) => record.userId),
];

/** A row for each pair of each location. */
function pairColumns(records: readonly Placed<'durablePresence'>[]): string[] {
  const rows = records.flatMap((each) => {
    const pairs = pairKeys(each.record.location);
    return pairs.map((pair) => ({ each, pair, pairs: bytesArray(pairs) }));
  });
  return [
    ...membershipColumns(rows.map(({ each }) => each)),
    bytesArray(rows.map(({ each }) => placeKey(each.record.region))),
    bytesArray(rows.map(({ pair }) => pair)),
    texts(rows, ({ pairs }) => pairs),
    plain(rows, ({ each }) => each.record.at),
  ];
}
