/** Until when users have seen a thread. $1 is the project. The thread is locked. */
/**
 * Parts of a WITH clause: `seen` has the thread where the time of the user became later, or is the first one. The select gives
 * project, thread, user and time. A new participant is listed afterwards, by
 * {@link LIST_PARTICIPANT}.
 */
export const seen = (select: string, user: string) => `
  seen AS (
    INSERT INTO participants (project_id, thread_no, user_id, last_seen_at) ${select}
    ON CONFLICT (project_id, thread_no, user_id) DO UPDATE SET
      previous_seen_at = participants.last_seen_at, last_seen_at = excluded.last_seen_at
    WHERE participants.last_seen_at < excluded.last_seen_at
    RETURNING thread_no, last_seen_at, previous_seen_at),
  relisted AS (
    UPDATE participant_times SET last_seen_at = (SELECT last_seen_at FROM seen)
    WHERE project_id = $1 AND thread_no = (SELECT thread_no FROM seen)
      AND last_seen_at = (SELECT previous_seen_at FROM seen) AND user_id = ${user})`;

/** Lists the user $3 of the thread $2 by their time, unless they are listed. */
export const LIST_PARTICIPANT = `
  INSERT INTO participant_times (project_id, thread_no, last_seen_at, user_id)
  SELECT project_id, thread_no, last_seen_at, user_id FROM participants
  WHERE project_id = $1 AND thread_no = $2 AND user_id = $3
  ON CONFLICT (project_id, thread_no, last_seen_at, user_id) DO NOTHING`;
