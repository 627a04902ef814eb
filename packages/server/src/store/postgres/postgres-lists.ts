/**
 * SQL that finds the rows of a list by their keys, one index lookup each, whatever the planner believes of the sizes of
 * tables. It relies on the planner settings of postgres-connection.ts. $1 is the project.
 */

/** A list becomes a subquery that PostgreSQL neither merges into the query around it nor plans together with it. */
const APART = 'OFFSET 0';

/**
 * A FROM item: the texts of parameters, each a column. The planner does not see how many they are. Where it does, and a list is short, it
 * takes a stored plan, which is for a list of ten, for more expensive, and plans the statement each time.
 */
export const listIn = (...parameters: readonly string[]) =>
  `unnest(${parameters.map((parameter) => `(SELECT ${parameter}::text[])`).join(', ')})`;

/**
 * A FROM item: rows with these columns, each a parameter from $2 on, all of them texts, and with their number, from 1 on. The
 * parameters are those of `arraysOf`.
 */
export const rowsIn = (columns: readonly string[]) =>
  `${listIn(...columns.map((_, index) => `$${index + 2}`))} WITH ORDINALITY AS each(${columns.join(', ')}, number)`;

/**
 * A FROM item that joins a list with the row of `table` that each entry names: `condition` compares all columns of a key.
 * The row is `alias`, with these columns.
 */
export const rowOf = (table: string, alias: string, columns: string, condition: string) =>
  `CROSS JOIN LATERAL (
    SELECT ${columns} FROM ${table} AS r WHERE r.project_id = $1 AND ${condition} ${APART}) AS ${alias}`;

/** The same of an entry `w` that has its project. */
export const rowNamed = (table: string, alias: string, columns: string, condition: string) =>
  `CROSS JOIN LATERAL (
    SELECT ${columns} FROM ${table} AS r WHERE r.project_id = w.project_id AND ${condition} ${APART}) AS ${alias}`;

/**
 * A FROM item `w` for UPDATE and DELETE: `list` with the project as a column. The key of the table is then compared with the
 * list alone, so the planner cannot begin with the rows of the project, which it may take for a few.
 * Compare `project_id` with the list's `project_id`, and never with $1. Mark a statement of long lists with
 * `planEachTime`.
 */
export const listed = (columns: string, list: string) =>
  `(SELECT $1::uuid AS project_id, ${columns} FROM ${list} ${APART}) AS w`;
