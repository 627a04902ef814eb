/**
 * Inserts the rows of a batch into the store's own tables and indexes, at the same durability, with nothing else: no
 * HTTP, no JSON, no checks. What a batch is compared with. Prints the milliseconds.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteConnection } from '../packages/server/src/store/sqlite/sqlite-connection.ts';
import { migrate } from '../packages/server/src/store/sqlite/sqlite-migrate.ts';
import type { LargeBatch } from './part-batch.ts';

const [, , dataDir, batchFile] = process.argv as [string, string, string, string];
const batch = JSON.parse(readFileSync(batchFile, 'utf8')) as LargeBatch;
const connection = new SqliteConnection(join(dataDir, 'raw.db'), { readOnly: false });
migrate(connection.database);

const user = connection.prepare(`
  INSERT INTO users (user_no, project_no, id, name, email, status, metadata, created_at, updated_at, revision)
  VALUES (?, 1, ?, ?, ?, 'active', '{}', 1, 1, 'r')`);
const group = connection.prepare(`
  INSERT INTO groups (group_no, project_no, id, name, status, metadata, member_count, revision)
  VALUES (?, 1, ?, ?, 'active', '{}', ?, 'r')`);
const membership = connection.prepare(
  'INSERT INTO memberships (group_no, user_id, user_no, name, email) VALUES (?, ?, ?, ?, ?)',
);
const reverse = connection.prepare('INSERT INTO user_groups (user_no, group_id, group_no) VALUES (?, ?, ?)');
const people = new Map(batch.users.map((person, index) => [person.id, { ...person, number: index + 1 }]));

const begin = performance.now();
connection.database.exec('BEGIN IMMEDIATE');
for (const [index, { id, name, email }] of batch.users.entries()) user.run(index + 1, id, name, email);
for (const [index, { id, name: groupName, members }] of batch.groups.entries()) {
  group.run(index + 1, id, groupName, members.length);
  for (const member of members) {
    const person = people.get(member);
    if (person === undefined) throw new Error(`${member} is no user of the batch`);
    const { number, name, email } = person;
    membership.run(index + 1, member, number, name, email);
    reverse.run(number, id, index + 1);
  }
}
connection.database.exec('COMMIT');
console.log(JSON.stringify({ milliseconds: performance.now() - begin }));
connection.close();
