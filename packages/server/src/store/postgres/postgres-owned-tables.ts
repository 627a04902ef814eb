/** Which rows end with a membership, a group or a project. Deletions and the purge empty the tables that are listed here. */

/** A table, and the columns of its key after `project_id`. */
type OwnedTable = readonly [table: string, key: string];

/**
 * Memberships, and tables with rows of a user in a group. Presence after memberships: a write of presence locks the membership
 * until it commits.
 */
export const TABLES_OF_MEMBERSHIP: readonly OwnedTable[] = [
  ['memberships', 'group_id, user_id'],
  ['durable_usage', 'group_id, user_id'],
  ['durable_presence', 'group_id, user_id, region_hash'],
  ['durable_pairs', 'group_id, user_id, region_hash, pair_hash'],
];

/** Tables with rows of a group, by its `group_id`. A conversation is purged in slices, so it has statements of its own. */
export const TABLES_OF_GROUP: readonly OwnedTable[] = [...TABLES_OF_MEMBERSHIP];

/** All tables with rows of a project. Sessions are not among them: they end by themselves within a day. */
export const TABLES_OF_PROJECT: readonly OwnedTable[] = [
  ...TABLES_OF_GROUP,
  ['thread_lists', 'conversation_no, location_key, resolved, activity, thread_no'],
  ['participant_times', 'thread_no, last_seen_at, user_id'],
  ['participants', 'thread_no, user_id'],
  ['messages', 'thread_no, created_at, seq'],
  ['message_ids', 'thread_no, id'],
  ['message_pieces', 'thread_no, seq, piece_no'],
  ['message_positions', 'thread_no, position'],
  ['removed_messages', 'thread_no, position'],
  ['thread_ids', 'id'],
  ['threads', 'thread_no'],
  ['conversations', 'group_id'],
  ['deleted_conversations', 'conversation_no'],
  ['deleted_threads', 'thread_no'],
  ['groups', 'id'],
  ['users', 'id'],
  ['user_counts', 'slot'],
  // A pass moves rows from the first to the second.
  ['written_changes', 'position'],
  ['webhook_deliveries', 'webhook_id'],
  ['webhook_attempts', 'webhook_id, number'],
  ['webhooks', 'id'],
  ['changes', 'position'],
  ['change_heads', 'position'],
];
