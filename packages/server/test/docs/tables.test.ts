import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { ERRORS, limits } from '@rollcall/protocol';
import { buildDocument } from '../../src/api-description/build-document.ts';
import { SETTINGS, type SettingDefinition } from '../../src/config/setting-definitions.ts';
import { OPERATIONS } from '../../src/http/operations/all-operations.ts';
import { anchorsOf, ROOT, readPage, tableOf, tablesOf } from './markdown.ts';

test('docs/errors.md has every error code with its status and whether it is retryable, and no other', () => {
  const listed = tableOf('docs/errors.md', 'Code').map(([code = '', status, retry]) => [
    /^\[`(\w+)`\]\(#\1\)$/.exec(code)?.[1],
    Number(status),
    retry,
  ]);
  const defined = Object.entries(ERRORS).map(([code, { status, retryable }]) => [
    code,
    status,
    retryable ? 'yes' : 'no',
  ]);
  assert.deepEqual(listed, defined);
});

test('docs/errors.md has a section for every code', () => {
  const anchors = anchorsOf('docs/errors.md');
  assert.deepEqual(
    Object.keys(ERRORS).filter((code) => !anchors.includes(code)),
    [],
  );
});

test('docs/errors.md has every status of an error in the API description, and whether the request can be sent again', () => {
  const described = Object.values(buildDocument(OPERATIONS).paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ responses }) => Object.keys(responses).filter((status) => status >= '400'));
  const rows = tablesOf('docs/errors.md', 'Status');
  const ofCodes = Object.values(ERRORS).map(({ status }) => String(status));
  const { own = [], again = [] } = Object.groupBy(rows, ([, code = '']) =>
    code in ERRORS ? 'own' : 'again',
  );
  const ofSituations = own.map(([status = '']) => status);
  const resent = again.flatMap(([statuses = '']) => statuses.match(/\d{3}/g) ?? []);
  const missing = (expected: readonly string[], listed: readonly string[]) => [
    ...new Set(expected).difference(new Set(listed)),
  ];
  assert.deepEqual(missing(described, [...ofCodes, ...ofSituations]), []);
  assert.deepEqual(missing([...ofCodes, ...ofSituations], resent), []);
});

test('docs/operations.md has every setting with its flag and its default, and no other', () => {
  const listed = tableOf('docs/operations.md', 'Variable').map(([env, flag, value]) => [env, flag, value]);
  const defined = Object.values<SettingDefinition>(SETTINGS).map((setting) => [
    setting.env,
    setting.flag,
    setting.default === null ? 'none' : String(setting.default),
  ]);
  assert.deepEqual(listed, defined);
});

test('docs/adr/0016-sql-of-other-databases.md names the key of every table on PostgreSQL', () => {
  const migrations = globSync('packages/server/src/store/postgres/migrations/*.sql', { cwd: ROOT });
  const created = migrations.flatMap((path) =>
    [...readPage(path).matchAll(/^CREATE TABLE (\w+)/gm)].map(([, table = '']) => table),
  );
  const listed = tableOf('docs/adr/0016-sql-of-other-databases.md', 'Table').join();
  assert.deepEqual(
    created.filter((table) => !new RegExp(`\\b${table}\\b`).test(listed)),
    [],
  );
});

/** The name of each limit in docs/api.md. */
const LIMITS: Readonly<Record<keyof typeof limits, string>> = {
  ID_MAX_LENGTH: 'ID',
  NAME_MAX_LENGTH: 'name, short name',
  EMAIL_MAX_LENGTH: 'e-mail address',
  URL_MAX_LENGTH: 'profile picture URL',
  METADATA_MAX_BYTES: 'metadata',
  JSON_MAX_DEPTH: 'nesting of a request body',
  LOCATION_MAX_PAIRS: 'pairs of a location',
  LOCATION_TEXT_MAX_LENGTH: 'key or value of a location',
  LOCATION_MAX_BYTES: 'location',
  EPHEMERAL_LOCATIONS_MAX: 'ephemeral locations of a user in a group',
  EPHEMERAL_LOCATIONS_MAX_BYTES: 'these locations together',
  CONNECTIONS_MAX: 'connections of a user in a group',
  HOLDS_MAX: 'holds of a user in a group',
  CONNECTION_ID_MAX_LENGTH: 'ID of a connection',
  PRESENCE_DATA_MAX_BYTES: '`data` of a presence',
  USER_STREAMS_MAX: 'open streams of a user with client tokens',
  SOCKET_FRAME_MAX_BYTES: 'frame of a socket',
  SOCKET_FRAMES_PER_SECOND: 'frames a second of a socket, sustained',
  SOCKET_FRAMES_BURST: 'frames of a socket at once, after a pause',
  SOCKET_WATCHES_MAX: 'watches of a socket',
  SOCKET_LOCATIONS_MAX: 'locations that a socket holds',
  DURABLE_LOCATIONS_MAX: 'durable locations of a user in a group',
  DURABLE_LOCATIONS_MAX_BYTES: 'text of these locations',
  CONTENT_MAX_NODES: 'nodes at the top level of content',
  CONTENT_MAX_LEVELS: 'levels of content',
  CONTENT_MAX_BYTES: 'content of a message',
  PARTICIPANTS_SHOWN: 'participants that a thread shows',
  CONVERSATION_PAGE_DEFAULT_LIMIT: 'threads or messages of a page, by default',
  CONVERSATION_PAGE_MAX_LIMIT: 'threads or messages of a page, at most',
  CONVERSATION_PAGE_MAX_BYTES: 'bytes of a page of threads or messages',
  UNREAD_MAX: 'unread messages that are counted',
  WEBHOOKS_MAX: 'webhooks of a project',
  WEBHOOK_TYPES_MAX: 'types of a webhook',
  WEBHOOK_CHANGES_MAX: 'changes of a delivery',
  WEBHOOK_DELIVERY_MAX_BYTES: 'changes of a delivery, as text',
  WEBHOOK_ATTEMPTS_MAX: 'attempts of a webhook that are stored',
  WEBHOOK_ANSWER_MAX_BYTES: 'answer of a receiver that is stored',
  WEBHOOK_ANSWER_SECONDS: 'time that a receiver has to answer',
  WEBHOOK_BEHIND_MAX: 'waiting changes that are counted',
  WEBHOOK_OVERLAP_SECONDS: 'overlap of two secrets of a webhook',
  LISTED_IDS_MAX: 'IDs of a list that is requested by ID',
  PAGE_DEFAULT_LIMIT: 'entries of a page, by default',
  PAGE_MAX_LIMIT: 'entries of a page, at most',
  PRESENCE_PAGE_MAX_BYTES: 'bytes of a page of presence',
  BATCH_MAX_USERS: 'users of a batch',
  BATCH_MAX_GROUPS: 'groups of a batch',
  PRESENCE_UPDATES_MAX: 'presence updates of one call',
  PROBLEMS_NAMED: 'JSON paths that one message names',
  BODY_DEFAULT_LIMIT_BYTES: 'body of a batch, a group or a list of members, by default',
  PRESENCE_UPDATES_BODY_LIMIT_BYTES: 'body of `PUT /v1/presence`',
  SMALL_BODY_LIMIT_BYTES: 'body of every other request',
  TOKEN_MAX_AGE_SECONDS: 'age of a token',
  CLOCK_TOLERANCE_SECONDS: 'difference of clocks',
  ROTATION_DEFAULT_OVERLAP_SECONDS: 'overlap of two secrets, by default',
  ROTATION_MAX_OVERLAP_SECONDS: 'overlap of two secrets, at most',
  REQUEST_ID_MAX_LENGTH: 'request ID',
};

test('docs/api.md has every limit of the protocol with its value, and no other', () => {
  const listed = tableOf('docs/api.md', 'Limit').map(([limit = '', value = '']) => [
    limit,
    firstNumber(value),
  ]);
  const defined = Object.entries(limits).map(([name, value]) => [LIMITS[name as keyof typeof limits], value]);
  assert.deepEqual(Object.fromEntries(listed), Object.fromEntries(defined));
  assert.equal(listed.length, defined.length);
});

/** `16,384 bytes of JSON (16 KiB)` is 16384. */
const firstNumber = (cell: string) => Number(/^[\d,]+/.exec(cell)?.[0].replaceAll(',', ''));
