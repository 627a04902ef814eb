/** Carried records of what is in a project. $1 is the project in every statement, and each is for all records of that project. */
import type { CarriedRecord } from '../../store.ts';
import { type Call, planEachTime } from '../connections/postgres-connection.ts';
import type { Transaction } from '../connections/postgres-database.ts';
import { listed, lockByIds } from '../postgres-lists.ts';
import { pairKeys, placeKey } from '../postgres-place-keys.ts';
import { bytesArray, textArray } from '../postgres-text.ts';
import {
  type Carried,
  type CarriedWrite,
  numbersOf,
  type Placed,
  placed,
  plain,
  texts,
} from './postgres-carry-run.ts';

const NAMED = 'unnest($2::text[]) AS by_id(id)';
const HOLD_GROUPS = lockByIds('groups', NAMED, 'FOR UPDATE');
const HOLD_USERS = lockByIds('users', NAMED, 'FOR UPDATE');

/** The numbers that these give are the places $2. */
const PUT_PREFERENCES = planEachTime(`
  UPDATE users u SET send_via_messenger = w.messenger, send_via_email = w.email
  FROM ${listed(
    'each.*',
    'unnest($2::int[], $3::text[], $4::boolean[], $5::boolean[]) AS each(place, user_id, messenger, email)',
    'w',
  )}
  WHERE u.project_id = w.project_id AND u.id = w.user_id RETURNING w.place`);
const PUT_WORKSPACES = planEachTime(`
  UPDATE groups g SET workspace = w.workspace,
    revision = CASE WHEN g.workspace IS NULL THEN $5 ELSE g.revision END
  FROM ${listed('each.*', 'unnest($2::int[], $3::text[], $4::text[]) AS each(place, group_id, workspace)', 'w')}
  WHERE g.project_id = w.project_id AND g.id = w.group_id RETURNING w.place`);
const FIND_MEMBERS = `
  SELECT w.place FROM unnest($2::int[], $3::text[], $4::text[]) AS w(place, group_id, user_id)
  WHERE (SELECT 1 FROM memberships m
    WHERE m.project_id = $1 AND m.group_id = w.group_id AND m.user_id = w.user_id) IS NOT NULL`;

/** What is imported is not counted: the next update of the member counts it, and ends what exceeds the bounds. */
const FORGET_COUNTS = `
  INSERT INTO durable_usage (project_id, group_id, user_id)
  SELECT DISTINCT $1::uuid, w.group_id, w.user_id FROM unnest($2::text[], $3::text[]) AS w(group_id, user_id)
  ON CONFLICT (project_id, group_id, user_id) DO UPDATE SET
    locations = NULL, bytes = NULL, latest_at = NULL, counted_at = NULL`;
const PUT_PRESENCE = `
  INSERT INTO durable_presence (project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
  SELECT $1, w.*
  FROM unnest($2::text[], $3::text[], $4::bytea[], $5::text[], $6::bytea[], $7::text[], $8::bigint[])
    AS w(group_id, user_id, region_hash, region, location_hash, location, updated_at)
  ORDER BY w.group_id COLLATE "C", w.user_id COLLATE "C", w.region_hash
  ON CONFLICT (project_id, group_id, user_id, region_hash) DO UPDATE SET location_hash = excluded.location_hash,
    location = excluded.location, previous_location = NULL, updated_at = excluded.updated_at`;
const REMOVE_PAIRS = planEachTime(`
  DELETE FROM durable_pairs d
  USING ${listed(
    'each.*',
    'unnest($2::text[], $3::text[], $4::bytea[]) AS each(group_id, user_id, region_hash)',
    'w',
  )}
  WHERE d.project_id = w.project_id AND d.group_id = w.group_id AND d.user_id = w.user_id
    AND d.region_hash = w.region_hash`);
/** The pairs of a place are an array each, and stand together as text: an array of arrays would want equal lengths. */
const PUT_PAIRS = `
  INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
  SELECT $1, w.group_id, w.user_id, w.region_hash, w.pair_hash, w.pair_hashes::bytea[], w.updated_at
  FROM unnest($2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[], $7::bigint[])
    AS w(group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)`;

type ContentType = 'preferences' | 'workspace' | 'durablePresence';

const isContent = (record: CarriedRecord): record is Carried<ContentType> =>
  record.type === 'preferences' || record.type === 'workspace' || record.type === 'durablePresence';

/** By project, in the order of the keys. */
const byProject = <Type extends ContentType>(found: readonly Placed<Type>[]) => [
  ...Map.groupBy(found, ({ project }) => project),
];

/**
 * Holds all groups and users that these records change, in the order in which every writer does, whatever order the
 * records have. While a group is held, nobody joins or leaves it. Gives the records that may be written: those about what
 * is not there yet are left out, even when somebody makes it meanwhile, since nothing holds it.
 */
export async function holdContents(
  transaction: Transaction,
  records: readonly CarriedRecord[],
): Promise<CarriedRecord[]> {
  const projects = byProject(await placed(transaction, records.filter(isContent)));
  const groupsOf = ({ record }: Placed<ContentType>) =>
    record.type === 'preferences' ? [] : [record.groupId];
  const usersOf = ({ record }: Placed<ContentType>) => (record.type === 'preferences' ? [record.userId] : []);
  const answers = await transaction.run(
    ...projects.map(
      ([project, own]): Call => [HOLD_GROUPS, project, textArray(new Set(own.flatMap(groupsOf)))],
    ),
    ...projects.map(
      ([project, own]): Call => [HOLD_USERS, project, textArray(new Set(own.flatMap(usersOf)))],
    ),
  );
  const held = answers.map((rows) => new Set(rows.map(([id]) => id)));
  const writable = new Set<CarriedRecord>();
  for (const [index, [, own]] of projects.entries()) {
    const [groups, users] = [held[index], held[index + projects.length]];
    for (const { record } of own) {
      const isHeld = record.type === 'preferences' ? users?.has(record.userId) : groups?.has(record.groupId);
      if (isHeld) writable.add(record);
    }
  }
  return records.filter((record) => !isContent(record) || writable.has(record));
}

export const putPreferences: CarriedWrite<'preferences'> = async (transaction, records) => {
  const projects = byProject(await placed(transaction, records));
  const calls = projects.map(
    ([project, own]): Call => [
      PUT_PREFERENCES,
      project,
      plain(own, ({ place }) => place),
      texts(own, ({ record }) => record.userId),
      plain(own, ({ record }) => record.sendViaMessenger),
      plain(own, ({ record }) => record.sendViaEmail),
    ],
  );
  return (await transaction.run(...calls)).flatMap(numbersOf);
};

export const putWorkspaces: CarriedWrite<'workspace'> = async (transaction, records, { revision }) => {
  const projects = byProject(await placed(transaction, records));
  const calls = projects.map(
    ([project, own]): Call => [
      PUT_WORKSPACES,
      project,
      plain(own, ({ place }) => place),
      texts(own, ({ record }) => record.groupId),
      texts(own, ({ record }) => record.workspace),
      revision,
    ],
  );
  return (await transaction.run(...calls)).flatMap(numbersOf);
};

export const putPresence: CarriedWrite<'durablePresence'> = async (transaction, records) => {
  const projects = byProject(await placed(transaction, records));
  const questions = projects.map(
    ([project, own]): Call => [
      FIND_MEMBERS,
      project,
      plain(own, ({ place }) => place),
      ...memberColumns(own),
    ],
  );
  const members = new Set((await transaction.run(...questions)).flatMap(numbersOf));
  const isMember = ({ place }: PlacedPresence) => members.has(place);
  await transaction.run(
    ...projects.flatMap(([project, own]) => presenceCalls(project, own.filter(isMember))),
  );
  return members;
};

type PlacedPresence = Placed<'durablePresence'>;

const memberColumns = (own: readonly PlacedPresence[]) => [
  texts(own, ({ record }) => record.groupId),
  texts(own, ({ record }) => record.userId),
];

const regionColumns = (own: readonly PlacedPresence[]) => [
  ...memberColumns(own),
  bytesArray(own.map(({ record }) => placeKey(record.region))),
];

/** The statements that put these places in place of what their regions had; they lock what is counted first. */
const presenceCalls = (project: string, own: readonly PlacedPresence[]): Call[] => [
  [FORGET_COUNTS, project, ...memberColumns(own)],
  [
    PUT_PRESENCE,
    project,
    ...regionColumns(own),
    texts(own, ({ record }) => record.region),
    bytesArray(own.map(({ record }) => placeKey(record.location))),
    texts(own, ({ record }) => record.location),
    plain(own, ({ record }) => record.at),
  ],
  [REMOVE_PAIRS, project, ...regionColumns(own)],
  [PUT_PAIRS, project, ...pairColumns(own)],
];

/** A row for each pair of each location. */
function pairColumns(own: readonly PlacedPresence[]): string[] {
  const rows = own.flatMap((each) => {
    const pairs = pairKeys(each.record.location);
    return pairs.map((pair) => ({ each, pair, pairs: bytesArray(pairs) }));
  });
  return [
    ...regionColumns(rows.map(({ each }) => each)),
    bytesArray(rows.map(({ pair }) => pair)),
    texts(rows, ({ pairs }) => pairs),
    plain(rows, ({ each }) => each.record.at),
  ];
}
