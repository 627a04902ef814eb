/** Every limit of the public API. docs/api.md lists them; a test compares the two. */

/** Longest partner-specific ID, in Unicode code points. */
export const ID_MAX_LENGTH = 320;
/** Longest user, group or project name, and longest short name, in code points. */
export const NAME_MAX_LENGTH = 256;
export const EMAIL_MAX_LENGTH = 320;
export const URL_MAX_LENGTH = 2_048;
/** Largest `metadata` object, in bytes of its JSON text. */
export const METADATA_MAX_BYTES = 16 * 1_024;

/** Deepest nesting of a body: metadata cannot be deeper than its bytes, and the body around it adds a few levels. */
export const JSON_MAX_DEPTH = METADATA_MAX_BYTES + 16;

export const LOCATION_MAX_PAIRS = 16;
/** Longest key and longest value of a location, in code points. */
export const LOCATION_TEXT_MAX_LENGTH = 1_024;
/** Largest location, in bytes of its JSON text (UTF-8). */
export const LOCATION_MAX_BYTES = 8 * 1_024;

/** Most ephemeral locations of a user in a group, one for each region. */
export const EPHEMERAL_LOCATIONS_MAX = 100;
/** Most bytes of JSON text (UTF-8) that these locations have together. */
export const EPHEMERAL_LOCATIONS_MAX_BYTES = 64 * 1_024;
/** Most connections that hold an ephemeral location of a user in a group. One more ends the one with the earliest deadline. */
export const CONNECTIONS_MAX = 100;
/**
 * Most holds of a user in a group: a location in two regions, or of two connections, counts twice. Each update of them on Redis
 * reads all.
 */
export const HOLDS_MAX = 300;
/** Longest ID of a connection, in characters. */
export const CONNECTION_ID_MAX_LENGTH = 64;
/** Largest `data` of an ephemeral presence, in bytes of its JSON text (UTF-8). */
export const PRESENCE_DATA_MAX_BYTES = 1_024;
/** Most streams that are open with client tokens of one user, in each process. */
export const USER_STREAMS_MAX = 100;

/** Largest frame that a socket takes, in bytes. */
export const SOCKET_FRAME_MAX_BYTES = 64 * 1_024;
/** Frames a second that a socket takes for long, and at once after a pause. */
export const SOCKET_FRAMES_PER_SECOND = 50;
export const SOCKET_FRAMES_BURST = 200;
/** Most watches of a socket, and most locations that it holds. */
export const SOCKET_WATCHES_MAX = 100;
export const SOCKET_LOCATIONS_MAX = 100;

/** Most durable locations of a user in a group. One more ends the oldest. */
export const DURABLE_LOCATIONS_MAX = 10_000;
/** Most bytes of a user's durable locations in a group, as JSON text in UTF-8. */
export const DURABLE_LOCATIONS_MAX_BYTES = 1_024 * 1_024;

/** Most nodes of a message's content at its top level. */
export const CONTENT_MAX_NODES = 1_000;
/** Deepest nesting of content: the nodes of the array are level 1, and a text counts. */
export const CONTENT_MAX_LEVELS = 8;
/** Largest content of a message, in bytes of its JSON text (UTF-8), however it came to be. */
export const CONTENT_MAX_BYTES = 128 * 1_024;
/** How many participants a thread shows: the most recent. */
export const PARTICIPANTS_SHOWN = 100;
/** Default number of threads or messages of a page, and the most of them. */
export const CONVERSATION_PAGE_DEFAULT_LIMIT = 50;
export const CONVERSATION_PAGE_MAX_LIMIT = 1_000;
/** A page of threads or messages ends with the entry that makes it larger than this, in bytes. */
export const CONVERSATION_PAGE_MAX_BYTES = 4 * 1_024 * 1_024;
/** The greatest `unread` of a thread; more are shown as this. */
export const UNREAD_MAX = 10_000;

/** Most IDs of users or groups that one list is filtered by. */
export const LISTED_IDS_MAX = 100;
export const PAGE_DEFAULT_LIMIT = 1_000;
export const PAGE_MAX_LIMIT = 10_000;
/** A page of presence ends with the entry that makes it larger than this, in bytes. */
export const PRESENCE_PAGE_MAX_BYTES = 4 * 1_024 * 1_024;

export const BATCH_MAX_USERS = 10_000;
export const BATCH_MAX_GROUPS = 1_000;
/** Most updates of one `PUT /v1/presence`. */
export const PRESENCE_UPDATES_MAX = 1_000;

/** How many JSON paths one error message names; it counts the rest. */
export const PROBLEMS_NAMED = 20;

/** Most webhooks of a project. */
export const WEBHOOKS_MAX = 100;
/** Most types that a webhook names. */
export const WEBHOOK_TYPES_MAX = 100;
/** Most changes of a delivery. */
export const WEBHOOK_CHANGES_MAX = 100;
/** A delivery ends with the change that makes it larger than this, in bytes. */
export const WEBHOOK_DELIVERY_MAX_BYTES = 128 * 1_024;
/** How many attempts of a webhook are stored, and how much of an answer, in bytes. */
export const WEBHOOK_ATTEMPTS_MAX = 100;
export const WEBHOOK_ANSWER_MAX_BYTES = 1_024;
/** Until when a receiver must have answered, in seconds. */
export const WEBHOOK_ANSWER_SECONDS = 10;
/** Most waiting changes that are counted. */
export const WEBHOOK_BEHIND_MAX = 10_000;
/** How long the secret before signs after a rotation, in seconds. */
export const WEBHOOK_OVERLAP_SECONDS = 86_400;

/** Largest body of a batch, a group or a list of members, unless the server is configured otherwise. */
export const BODY_DEFAULT_LIMIT_BYTES = 32 * 1_024 * 1_024;
/** Largest body of `PUT /v1/presence`. */
export const PRESENCE_UPDATES_BODY_LIMIT_BYTES = 1_024 * 1_024;
/** Largest body of every other route, and the largest that is read on the event loop. */
export const SMALL_BODY_LIMIT_BYTES = 256 * 1_024;

/** Oldest accepted token, and the life of an access token, in seconds. */
export const TOKEN_MAX_AGE_SECONDS = 24 * 60 * 60;
/** Allowed difference between the clocks of host and server, in seconds. */
export const CLOCK_TOLERANCE_SECONDS = 30;
/** How long a rotated secret is still accepted by default, in seconds. */
export const ROTATION_DEFAULT_OVERLAP_SECONDS = 86_400;
/** Longest overlap of two secrets: a year. */
export const ROTATION_MAX_OVERLAP_SECONDS = 366 * 86_400;

export const REQUEST_ID_MAX_LENGTH = 128;
