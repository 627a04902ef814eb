/** Which rows end with a group or a project. Deletions and the purge empty the tables that are listed here. */

/** A table, and the columns of its key. */
type OwnedTable = readonly [table: string, key: string];

/**
 * Tables with rows of a group, by its `group_no`. Memberships have rows of the user beside them, and a conversation is purged in
 * slices, so both have statements of their own.
 */
export const TABLES_OF_GROUP: readonly OwnedTable[] = [
  ['durable_places', 'group_no, place_key, user_id, presence_no'],
  ['durable_presence', 'presence_no'],
  ['durable_usage', 'group_no, user_id'],
];

/** Tables with rows of a project that belong to no group, by its `project_no`. */
export const TABLES_OF_PROJECT: readonly OwnedTable[] = [
  ['webhooks', 'project_no, id'],
  ['webhook_deliveries', 'project_no, webhook_id'],
  ['webhook_attempts', 'project_no, webhook_id, number'],
  ['changes', 'project_no, position'],
];
