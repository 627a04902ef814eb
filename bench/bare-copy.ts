/**
 * Copies the rows of a batch into the store's own tables and indexes of an empty database, in one transaction, with
 * nothing else: no HTTP, no JSON, no checks. What a batch on PostgreSQL is compared with. Arguments: the database's URL
 * and the batch's file. Prints the milliseconds.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { LargeBatch } from './part-batch.ts';

const [, , databaseUrl, batchFile] = process.argv as [string, string, string, string];
const batch = JSON.parse(readFileSync(batchFile, 'utf8')) as LargeBatch;
const project = randomUUID();

/** The part of the client that speaks the copy protocol beneath its own queries. */
interface Wire {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** A COPY of rows that are ready as text; the client calls these methods as the server's messages come. */
class Copy {
  readonly done = Promise.withResolvers<void>();
  readonly #text: string;
  readonly #rows: Buffer;

  constructor(table: string, columns: string, rows: readonly string[]) {
    this.#text = `COPY ${table} (${columns}) FROM STDIN`;
    this.#rows = Buffer.from(rows.map((row) => `${row}\n`).join(''));
  }

  submit(connection: Wire): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(connection: Wire): void {
    connection.sendCopyFromChunk(this.#rows);
    connection.endCopyFrom();
  }

  handleError(error: Error): void {
    this.done.reject(error);
  }

  handleReadyForQuery(): void {
    this.done.resolve();
  }

  handleCommandComplete(): void {}
}

const users = batch.users.map(({ id, name, email }) =>
  [project, id, name, email, 'active', '{}', 1, 1, 'r'].join('\t'),
);
const groups = batch.groups.map(({ id, name, members }) =>
  [project, id, name, 'active', '{}', members.length, 'r'].join('\t'),
);
const memberships = batch.groups.flatMap(({ id, members }) =>
  members.map((member) => [project, id, member].join('\t')),
);

const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();
const copies = [
  new Copy('users', 'project_id, id, name, email, status, metadata, created_at, updated_at, revision', users),
  new Copy('groups', 'project_id, id, name, status, metadata, member_count, revision', groups),
  new Copy('memberships', 'project_id, group_id, user_id', memberships),
];
const begin = performance.now();
await client.query('BEGIN');
for (const copy of copies) {
  client.query(copy as unknown as pg.Submittable);
  await copy.done.promise;
}
await client.query('COMMIT');
const milliseconds = performance.now() - begin;
await client.end();
console.log(JSON.stringify({ milliseconds }));
