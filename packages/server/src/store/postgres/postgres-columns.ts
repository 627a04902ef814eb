import type { Row } from './connections/postgres-connection.ts';

/** The columns of a SELECT, and the record of one of its rows: for each field of the record, the SQL of its column. */
export function columnsOf<Found extends object>(sqlOf: { readonly [field in keyof Found]: string }) {
  const fields = Object.keys(sqlOf);
  return {
    sql: Object.values<string>(sqlOf).join(', '),
    toRecord(row: Row): Found {
      const record: { [field: string]: unknown } = {};
      for (const [index, field] of fields.entries()) record[field] = row[index];
      return record as Found;
    },
  };
}
