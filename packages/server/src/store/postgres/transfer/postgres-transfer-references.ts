/** Whether the rows that records of an import name are there. */
import { TransferError } from '../../ports/transfer.ts';
import type { RecordOf, TransferRecord } from '../../transfer-records.ts';
import { type Call, planEachTime, type Row } from '../connections/postgres-connection.ts';
import { arraysOf } from '../postgres-text.ts';

/** The position of the first key that has no row, among those of each array; no row where all have one. */
const firstMissing = (table: string, columns: Readonly<Record<string, string>>) => {
  const names = Object.keys(columns);
  const arrays = names.map((name, index) => `$${index + 1}::${columns[name]}[]`);
  const isSame = names.map((name) => `r.${name} = w.${name}`).join(' AND ');
  return planEachTime(`
    SELECT w.position - 1 FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS w(${names.join(', ')}, position)
      LEFT JOIN LATERAL (SELECT 1 AS is_there FROM ${table} r WHERE ${isSame} OFFSET 0) AS found ON TRUE
    WHERE found.is_there IS NULL ORDER BY w.position LIMIT 1`);
};
const MISSING_GROUP = firstMissing('groups', { project_id: 'uuid', id: 'text' });
const MISSING_USER = firstMissing('users', { project_id: 'uuid', id: 'text' });
const MISSING_MEMBER = firstMissing('memberships', { project_id: 'uuid', group_id: 'text', user_id: 'text' });

type Run = (call: Call) => Promise<Row[]>;
type KeyOf = (record: { readonly project: string }) => string;

/** Checks that records of one type name rows that are there. @throws TransferError for the first record that does not */
export async function requireReferences(
  records: readonly TransferRecord[],
  run: Run,
  keyOf: KeyOf,
): Promise<void> {
  const first = async <Named>(
    sql: string,
    named: readonly Named[],
    key: (one: Named) => readonly string[],
  ) => {
    const [row] = named.length === 0 ? [] : await run([sql, ...arraysOf(named.map(key))]);
    return row === undefined ? undefined : named[Number(row[0])];
  };
  const members = records.filter((record): record is RecordOf<'members'> => record.type === 'members');
  const users = members.flatMap((record) => record.users.map((user) => ({ record, user })));
  const noGroup = await first(MISSING_GROUP, members, (record) => [keyOf(record), record.group]);
  const noUser = await first(MISSING_USER, users, ({ record, user }) => [keyOf(record), user]);
  const member = members.find((record) => record === noGroup || record === noUser?.record);
  if (member !== undefined)
    throw new TransferError('the group, or one of the users, has no earlier record', member);
  const present = records.filter((record) => record.type === 'durable_presence');
  const noMember = await first(MISSING_MEMBER, present, (record) => [
    keyOf(record),
    record.group,
    record.user,
  ]);
  if (noMember !== undefined)
    throw new TransferError('there is no earlier record of the membership', noMember);
}
