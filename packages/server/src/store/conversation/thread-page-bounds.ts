/** The bounds of a page of a thread list. A page ends at the same thread on every engine. */

/** Threads of a list that are searched for one page. */
export const SEARCHED_MAX = 5_000;
/** Participants and unread messages that are counted for one page; the thread that exceeds it ends the page. */
export const WORK_MAX = 20_000;
/** Threads that are counted to find the rarest of several pairs. */
export const COUNTED_MAX = 1_000;
/** The size of a participant in an answer besides the ID, in bytes. */
export const PARTICIPANT_BYTES = 64;
