export type SqlOf<Found> = { readonly [field in keyof Found]: string };

/** The columns of a SELECT, and the record of a row that begins with them. */
export function columnsOf<Found extends object>(sqlOf: SqlOf<Found>) {
  const fields = Object.keys(sqlOf);
  function toRecord(row: readonly unknown[]): Found {
    const record: { [field: string]: unknown } = {};
    // The rows of a page are many, and an iterator would double what each of them takes.
    for (let index = 0; index < fields.length; index += 1) record[fields[index] as string] = row[index];
    return record as Found;
  }
  return {
    sql: Object.values<string>(sqlOf).join(', '),
    toRecord,
    /** The record of the row that was found, or null where there is none. */
    toFound: (row: readonly unknown[] | undefined) => (row === undefined ? null : toRecord(row)),
    /** The values of a record, in the order of the columns. */
    toRow: (record: Found) => fields.map((field) => record[field as keyof Found]),
  };
}
