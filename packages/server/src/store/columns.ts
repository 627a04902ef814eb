/** For each field of a record, the SQL of its column. */
export type SqlOf<Found> = { readonly [field in keyof Found]: string };

/** The columns of a SELECT, and the record of a row that begins with them. */
export function columnsOf<Found extends object>(sqlOf: SqlOf<Found>) {
  const fields = Object.keys(sqlOf);
  return {
    sql: Object.values<string>(sqlOf).join(', '),
    toRecord(row: readonly unknown[]): Found {
      const record: { [field: string]: unknown } = {};
      for (const [index, field] of fields.entries()) record[field] = row[index];
      return record as Found;
    },
  };
}
