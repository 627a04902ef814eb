import { limits } from '@rollcall/protocol';
import {
  host,
  id,
  networks,
  oneOf,
  origins,
  type SettingKind,
  secret,
  text,
  url,
  wholeNumber,
} from './setting-kinds.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** One setting: the source of the parser, `serve --help`, `config check` and the table of docs/operations.md. */
export interface SettingDefinition<Value = string | number | null> {
  /** Follows from the setting's name, as the flag does. */
  readonly env: string;
  readonly flag: string;
  /** The placeholder of the value in the help. */
  readonly placeholder: string;
  readonly kind: SettingKind<NonNullable<Value>>;
  readonly default: Value;
  /** One sentence for the operator. */
  readonly doc: string;
  /** The value is never printed, logged or repeated in a message, and can be in a file that `<env>_FILE` names. */
  readonly secret?: true;
}

type Nameless<Value> = Omit<SettingDefinition<Value>, 'env' | 'flag'>;

const setting = <Value>(
  kind: SettingKind<NonNullable<Value>>,
  placeholder: string,
  byDefault: Value,
  doc: string,
): Nameless<Value> => ({ kind, placeholder, default: byDefault, doc });

/** Null where the setting is absent. */
const optional = <Value extends string | number>(
  kind: SettingKind<Value>,
  placeholder: string,
  doc: string,
  secrecy: { readonly secret?: true } = {},
): Nameless<Value | null> =>
  ({ kind, placeholder, default: null, doc, ...secrecy }) as Nameless<Value | null>;

/** Longest life of an ephemeral presence: a day. */
const PRESENCE_TTL_MAX_SECONDS = 86_400;
/** Recorded changes are stored for a minute at least, and for ten years at most. */
const CHANGES_MIN_SECONDS = 60;
const CHANGES_MAX_SECONDS = 315_360_000;
/** Longest delay of a change for streams, in milliseconds. */
const PRESENCE_MERGE_MAX_MS = 10_000;
/** Longest time between /readyz answering 503 and the end of listening, in seconds: more than any balancer needs. */
const STOP_DELAY_MAX_SECONDS = 300;
const BODY_LIMIT_MIN_BYTES = 1_024;
const BODIES_MEMORY_MIN_BYTES = 1_024 * 1_024;
const BODIES_MEMORY_MAX_BYTES = 1_024 ** 4;
/** A longer JSON text does not fit into one string. */
const BODY_LIMIT_MAX_BYTES = 512 * 1_024 * 1_024;

/** In the order in which help and documentation show them. */
const DEFINITIONS = {
  host: setting(host, 'address', '127.0.0.1', 'Address to listen on; 0.0.0.0 or :: for all.'),
  port: setting(
    wholeNumber(0, 65_535),
    'port',
    8080,
    'Port to listen on; 0 takes a free one, which the log names.',
  ),
  dataDir: setting(
    text('a directory'),
    'directory',
    './data',
    'Directory of the embedded store; a server creates it when missing.',
  ),
  databaseUrl: optional(url('postgres', 'postgresql'), 'url', 'PostgreSQL in place of the embedded store.', {
    secret: true,
  }),
  redisUrl: optional(
    url('redis', 'rediss'),
    'url',
    'Redis that shares presence between processes; without it, presence is in this process.',
    { secret: true },
  ),
  presenceTtlSeconds: setting(
    wholeNumber(1, PRESENCE_TTL_MAX_SECONDS),
    'seconds',
    30,
    'How long an ephemeral presence lives after its last update.',
  ),
  changesSeconds: setting(
    wholeNumber(CHANGES_MIN_SECONDS, CHANGES_MAX_SECONDS),
    'seconds',
    2_592_000,
    'How long the record of what each write changed is stored.',
  ),
  presenceMergeMs: setting(
    wholeNumber(0, PRESENCE_MERGE_MAX_MS),
    'milliseconds',
    500,
    'How long a change may wait at most to be sent with others, where streams need more writes than one process makes; 0 sends each at once.',
  ),
  bodyLimitBytes: setting(
    wholeNumber(BODY_LIMIT_MIN_BYTES, BODY_LIMIT_MAX_BYTES),
    'bytes',
    limits.BODY_DEFAULT_LIMIT_BYTES,
    'Largest body of a batch, a group or a list of members; a larger one is answered 413.',
  ),
  bodiesMemoryBytes: setting(
    wholeNumber(BODIES_MEMORY_MIN_BYTES, BODIES_MEMORY_MAX_BYTES),
    'bytes',
    256 * 1_024 * 1_024,
    'Memory for the request bodies that are being received or applied; beyond it requests are answered 503.',
  ),
  stopDelaySeconds: setting(
    wholeNumber(0, STOP_DELAY_MAX_SECONDS),
    'seconds',
    1,
    'How long a server that stops answers 503 on /readyz before it accepts no more connections.',
  ),
  socketsWaiting: setting(
    wholeNumber(1, 1_000_000),
    'sockets',
    1_000,
    'How many sockets of clients may be open that have not logged in yet; more are answered 503.',
  ),
  socketTimeoutSeconds: setting(
    wholeNumber(1, 3_600),
    'seconds',
    10,
    'How long a socket may bring nothing, no answer to a ping either, before it is closed.',
  ),
  logLevel: setting(
    oneOf(LOG_LEVELS),
    'level',
    'info',
    'Least severe log lines to write; info has start, stop and failures, debug has every request, silent has none.',
  ),
  rateLimitPerSecond: optional(
    wholeNumber(1, 1_000_000),
    'requests',
    'Requests per second that one project may send; more are answered 429.',
  ),
  corsOrigins: optional(
    origins,
    'origins',
    'Origins whose pages may call /v1/client from a browser: https://app.example.com,… or * for all.',
  ),
  webhooksAllow: optional(
    networks,
    'networks',
    'Networks that are not public to which webhooks may be sent, also over http: 10.0.0.0/8,…',
  ),
  customerId: optional(id, 'id', 'Customer to create at the start if missing; goes with its secret.'),
  customerSecret: optional(
    secret,
    'secret',
    "That customer's secret; the secret of an existing customer is not changed.",
    { secret: true },
  ),
  projectId: optional(id, 'id', 'Project to create at the start if missing; goes with its secret.'),
  projectSecret: optional(
    secret,
    'secret',
    "That project's secret; the secret of an existing project is not changed.",
    { secret: true },
  ),
};

export type SettingName = keyof typeof DEFINITIONS;
type ValueOf<Definition> = Definition extends Nameless<infer Value> ? Value : never;

/** Every setting of the server. Null where a setting is optional and absent. */
export type Settings = { readonly [Name in SettingName]: ValueOf<(typeof DEFINITIONS)[Name]> };

/** Every setting, in the order in which help and documentation show them. */
export const SETTINGS = Object.fromEntries(
  Object.entries(DEFINITIONS).map(([name, definition]) => {
    const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const env = `ROLLCALL_${words.replaceAll('-', '_').toUpperCase()}`;
    return [name, { env, flag: `--${words}`, ...definition }];
  }),
) as unknown as { readonly [Name in SettingName]: SettingDefinition<Settings[Name]> };

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
