/**
 * Messages of a thread, ever: what SQLite and JavaScript count together (2^53) is divided among 2^28 threads and these.
 * A statement that runs returns the number of the last row as a JavaScript number, so no message can have a greater one.
 */
export const SEQ_BITS = 25;

/** The number of a message by that of its thread and its own in it. */
export const MESSAGE_NO = `(? << ${SEQ_BITS}) | ?`;
export const MESSAGE = `message_no = ${MESSAGE_NO}`;
