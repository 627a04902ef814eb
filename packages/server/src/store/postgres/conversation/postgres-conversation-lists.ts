/** The lists that a thread is in: see the table thread_lists. */
import type { Json } from '../../../values/json.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { type Call, planEachTime } from '../connections/postgres-connection.ts';
import { listed } from '../postgres-lists.ts';
import { plainArray } from '../postgres-text.ts';
import { pairKeys, locationKey as wholeKey } from '../presence/postgres-location-keys.ts';

/** The conversation of lists of the whole project, and the location of lists of any location. */
const ANY = '0';

/** The first 64 bits of a hash, as PostgreSQL reads a bigint: JavaScript cannot hold them in a number. */
const bigint = (hash: Buffer): string => hash.readBigInt64BE(0).toString();

export const locationKey = (location: Json): string => bigint(wholeKey(location));

/** The keys of a location's pairs. Different pairs may share one. */
export const locationPairKeys = (location: Json): string[] => pairKeys(location).map(bigint);

/** The keys of the lists in which a thread with this location is: of any location, of its own, and of each of its pairs. */
export const listKeys = (location: Json | null): string[] =>
  location === null ? [ANY] : [ANY, ...new Set([locationKey(location), ...locationPairKeys(location)])];

export interface ListPosition {
  readonly threadNo: number;
  readonly conversationNo: number;
  readonly location: Json | null;
  readonly resolved: boolean;
  /** The time of the latest message, or of the thread's creation. */
  readonly activity: number;
}

/** The parameters that name all lists of a thread: an array for each of the two columns. */
function listsOf({ conversationNo, location }: ListPosition): [string, string] {
  const locations = listKeys(location);
  const conversations = [ANY, conversationNo];
  return [
    plainArray(conversations.flatMap((conversation) => locations.map(() => conversation))),
    plainArray(conversations.flatMap(() => locations)),
  ];
}

const LISTS = 'unnest($2::bigint[], $3::bigint[]) AS list(conversation_no, location_key)';

const INSERT = `
  INSERT INTO thread_lists (project_id, conversation_no, location_key, thread_no, resolved, activity)
  SELECT $1, list.conversation_no, list.location_key, $4, $5, $6 FROM ${LISTS}`;

const AT_POSITION = `l.project_id = w.project_id AND l.conversation_no = w.conversation_no
  AND l.location_key = w.location_key AND l.thread_no = $4 AND l.resolved = $5 AND l.activity = $6`;
const MOVE = planEachTime(`
  UPDATE thread_lists l SET resolved = $7, activity = $8
  FROM ${listed('list.*', LISTS)} WHERE ${AT_POSITION}`);
const REMOVE = planEachTime(`
  DELETE FROM thread_lists l USING ${listed('list.*', LISTS)} WHERE ${AT_POSITION}`);

const parameters = (position: ListPosition) =>
  [...listsOf(position), position.threadNo, position.resolved, position.activity] as const;

/** The calls that put a thread from where it was (null: nowhere) to where it is now. The thread is locked. */
export function listCalls(project: ProjectKey, before: ListPosition | null, after: ListPosition): Call[] {
  if (before === null) return [[INSERT, project, ...parameters(after)]];
  if (before.location !== after.location) {
    return [
      [REMOVE, project, ...parameters(before)],
      [INSERT, project, ...parameters(after)],
    ];
  }
  if (before.resolved === after.resolved && before.activity === after.activity) return [];
  return [[MOVE, project, ...parameters(before), after.resolved, after.activity]];
}

export const unlistCall = (project: ProjectKey, position: ListPosition): Call => [
  REMOVE,
  project,
  ...parameters(position),
];
