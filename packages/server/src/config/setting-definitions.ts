import { limits } from '@rollcall/protocol';
import { id, oneOf, origins, type SettingKind, secret, text, url, wholeNumber } from './setting-kinds.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** All that the server can be told from outside. Null where a setting is optional and absent. */
export interface Settings {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly redisUrl: string | null;
  readonly presenceTtlSeconds: number;
  readonly presenceMergeMs: number;
  readonly bodyLimitBytes: number;
  readonly bodiesMemoryBytes: number;
  readonly stopDelaySeconds: number;
  readonly logLevel: LogLevel;
  /** Requests per second of one project; null is no limit. */
  readonly rateLimitPerSecond: number | null;
  /** Origins separated by commas, or `*` for all; null is none. */
  readonly corsOrigins: string | null;
  readonly customerId: string | null;
  readonly customerSecret: string | null;
  readonly projectId: string | null;
  readonly projectSecret: string | null;
}

export type SettingName = keyof Settings;

/** One setting: what the parser, `serve --help`, `config check` and the table of docs/operations.md are made from. */
export interface SettingDefinition<Value = Settings[SettingName]> {
  readonly env: string;
  readonly flag: string;
  /** The placeholder of the value in the help. */
  readonly placeholder: string;
  readonly kind: SettingKind<NonNullable<Value>>;
  readonly default: Value;
  /** One sentence for the operator. */
  readonly doc: string;
  /** The value is never printed, logged or repeated in a message. */
  readonly secret?: true;
}

/** Longest life that can be given to an ephemeral presence: a day. */
const PRESENCE_TTL_MAX_SECONDS = 86_400;
/** Longest that a change may be held back for those who watch, in milliseconds. */
const PRESENCE_MERGE_MAX_MS = 10_000;
/** Longest time between not being ready and not listening, in seconds: more than any balancer needs to notice. */
const STOP_DELAY_MAX_SECONDS = 300;
const BODY_LIMIT_MIN_BYTES = 1_024;
const BODIES_MEMORY_MIN_BYTES = 1_024 * 1_024;
const BODIES_MEMORY_MAX_BYTES = 1_024 ** 4;
/** A JSON text longer than this cannot be held as one string. */
const BODY_LIMIT_MAX_BYTES = 512 * 1_024 * 1_024;

/** Every setting, in the order in which help and documentation show them. */
export const SETTINGS: { readonly [Name in SettingName]: SettingDefinition<Settings[Name]> } = {
  host: {
    env: 'ROLLCALL_HOST',
    flag: '--host',
    placeholder: 'address',
    kind: text('an address or a host name'),
    default: '127.0.0.1',
    doc: 'Address to listen on; 0.0.0.0 or :: for all.',
  },
  port: {
    env: 'ROLLCALL_PORT',
    flag: '--port',
    placeholder: 'port',
    kind: wholeNumber(0, 65_535),
    default: 8080,
    doc: 'Port to listen on; 0 takes a free one, which the log names.',
  },
  dataDir: {
    env: 'ROLLCALL_DATA_DIR',
    flag: '--data-dir',
    placeholder: 'directory',
    kind: text('a directory'),
    default: './data',
    doc: 'Directory of the embedded store; created when missing.',
  },
  databaseUrl: {
    env: 'ROLLCALL_DATABASE_URL',
    flag: '--database-url',
    placeholder: 'url',
    kind: url('postgres', 'postgresql'),
    default: null,
    doc: 'PostgreSQL in place of the embedded store.',
    secret: true,
  },
  redisUrl: {
    env: 'ROLLCALL_REDIS_URL',
    flag: '--redis-url',
    placeholder: 'url',
    kind: url('redis', 'rediss'),
    default: null,
    doc: 'Redis that shares presence between processes; without it, presence is in this process.',
    secret: true,
  },
  presenceTtlSeconds: {
    env: 'ROLLCALL_PRESENCE_TTL_SECONDS',
    flag: '--presence-ttl-seconds',
    placeholder: 'seconds',
    kind: wholeNumber(1, PRESENCE_TTL_MAX_SECONDS),
    default: 30,
    doc: 'How long an ephemeral presence lives after its last update.',
  },
  presenceMergeMs: {
    env: 'ROLLCALL_PRESENCE_MERGE_MS',
    flag: '--presence-merge-ms',
    placeholder: 'milliseconds',
    kind: wholeNumber(0, PRESENCE_MERGE_MAX_MS),
    default: 500,
    doc: 'How long a change may wait at most to be sent with others, where streams ask for more writes than one process makes; 0 sends each at once.',
  },
  bodyLimitBytes: {
    env: 'ROLLCALL_BODY_LIMIT_BYTES',
    flag: '--body-limit-bytes',
    placeholder: 'bytes',
    kind: wholeNumber(BODY_LIMIT_MIN_BYTES, BODY_LIMIT_MAX_BYTES),
    default: limits.BODY_DEFAULT_LIMIT_BYTES,
    doc: 'Largest body of a batch, a group or a list of members; a larger one is answered 413.',
  },
  bodiesMemoryBytes: {
    env: 'ROLLCALL_BODIES_MEMORY_BYTES',
    flag: '--bodies-memory-bytes',
    placeholder: 'bytes',
    kind: wholeNumber(BODIES_MEMORY_MIN_BYTES, BODIES_MEMORY_MAX_BYTES),
    default: 256 * 1_024 * 1_024,
    doc: 'Memory for the request bodies that are being received or applied; beyond it requests are answered 503.',
  },
  stopDelaySeconds: {
    env: 'ROLLCALL_STOP_DELAY_SECONDS',
    flag: '--stop-delay-seconds',
    placeholder: 'seconds',
    kind: wholeNumber(0, STOP_DELAY_MAX_SECONDS),
    default: 1,
    doc: 'How long a server that stops answers 503 on /readyz before it accepts no more connections.',
  },
  logLevel: {
    env: 'ROLLCALL_LOG_LEVEL',
    flag: '--log-level',
    placeholder: 'level',
    kind: oneOf(LOG_LEVELS),
    default: 'info',
    doc: 'Least severe log lines to write; info has start, stop and failures, debug has every request.',
  },
  rateLimitPerSecond: {
    env: 'ROLLCALL_RATE_LIMIT_PER_SECOND',
    flag: '--rate-limit-per-second',
    placeholder: 'requests',
    kind: wholeNumber(1, 1_000_000),
    default: null,
    doc: 'Requests per second that one project may send; more are answered 429.',
  },
  corsOrigins: {
    env: 'ROLLCALL_CORS_ORIGINS',
    flag: '--cors-origins',
    placeholder: 'origins',
    kind: origins,
    default: null,
    doc: 'Origins whose pages may call /v1/client from a browser: https://app.example.com,… or * for all.',
  },
  customerId: {
    env: 'ROLLCALL_CUSTOMER_ID',
    flag: '--customer-id',
    placeholder: 'id',
    kind: id,
    default: null,
    doc: 'Customer to create at the start if missing; goes with its secret.',
  },
  customerSecret: {
    env: 'ROLLCALL_CUSTOMER_SECRET',
    flag: '--customer-secret',
    placeholder: 'secret',
    kind: secret,
    default: null,
    doc: "That customer's secret; the secret of an existing customer is not changed.",
    secret: true,
  },
  projectId: {
    env: 'ROLLCALL_PROJECT_ID',
    flag: '--project-id',
    placeholder: 'id',
    kind: id,
    default: null,
    doc: 'Project to create at the start if missing; goes with its secret.',
  },
  projectSecret: {
    env: 'ROLLCALL_PROJECT_SECRET',
    flag: '--project-secret',
    placeholder: 'secret',
    kind: secret,
    default: null,
    doc: "That project's secret; the secret of an existing project is not changed.",
    secret: true,
  },
};

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
