/** The endpoints of specification and contract, each with a valid request. */

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  /** A valid body; absent where the endpoint reads none. */
  readonly body?: Record<string, unknown>;
}

const at = (method: string, path: string, body?: Record<string, unknown>): Endpoint => ({
  method,
  path,
  ...(body === undefined ? {} : { body }),
});

const PREFERENCE = { key: 'notification_channels', value: { sendViaMessenger: false } };
const MARKDOWN = [{ type: 'markdown', children: [{ text: 'Hi' }] }];
const PRESENCE = { groupID: 'g', location: { page: '1' } };

/** The endpoints for project, app and access tokens, for a project with user `u` in group `g`. Deletions come last. */
export const DATA_ENDPOINTS: readonly Endpoint[] = [
  at('PUT', '/v1/groups/g', { name: 'G' }),
  at('POST', '/v1/groups', { id: 'made', name: 'Made' }),
  at('POST', '/v1/groups/g/members', { add: ['u'] }),
  at('GET', '/v1/groups'),
  at('GET', '/v1/groups/g'),
  at('GET', '/v1/groups/g/members'),
  at('GET', '/v1/groups/g/presence'),
  at('POST', '/v1/batch', { users: [], groups: [] }),
  at('POST', '/v1/users', { id: 'made' }),
  at('PUT', '/v1/users/u', { name: 'U' }),
  at('GET', '/v1/users'),
  at('GET', '/v1/users/u'),
  at('GET', '/v1/users/u/groups'),
  at('GET', '/v1/users/u/preferences'),
  at('PUT', '/v1/users/u/preferences', PREFERENCE),
  at('PUT', '/v1/u/preferences', PREFERENCE),
  at('PUT', '/v1/users/u/presence', PRESENCE),
  at('GET', '/v1/users/u/presence?groupID=g'),
  at('PUT', '/v1/presence', { updates: [{ userID: 'u', ...PRESENCE }] }),
  at('PUT', '/v1/threads/t', { groupID: 'g', name: 'T' }),
  at('POST', '/v1/threads', { groupID: 'g', name: 'Made' }),
  at('GET', '/v1/threads'),
  at('GET', '/v1/threads/t'),
  at('PUT', '/v1/threads/t/messages/m', { authorID: 'u', content: MARKDOWN }),
  at('POST', '/v1/threads/t/messages', { authorID: 'u', content: MARKDOWN }),
  at('GET', '/v1/threads/t/messages'),
  at('GET', '/v1/threads/t/messages/m'),
  at('POST', '/v1/threads/t/messages/m/append', { text: '!' }),
  at('DELETE', '/v1/threads/t/messages/m'),
  at('DELETE', '/v1/threads/t'),
  at('GET', '/v1/changes'),
  at('PUT', '/v1/webhooks/w', { url: 'https://receiver.invalid/', status: 'paused' }),
  at('GET', '/v1/webhooks'),
  at('GET', '/v1/webhooks/w'),
  at('GET', '/v1/webhooks/w/attempts'),
  at('POST', '/v1/webhooks/w/rotate-secret'),
  at('POST', '/v1/webhooks/w/replay', { after: 'latest' }),
  at('POST', '/v1/webhooks/w/test'),
  at('DELETE', '/v1/webhooks/w'),
  at('GET', '/v1/organizations'),
  at('PUT', '/v1/organizations/g', { name: 'G' }),
  at('GET', '/v1/organizations/g'),
  at('GET', '/v1/organizations/g/members'),
  at('POST', '/v1/organizations/g/members', { add: ['u'] }),
  at('DELETE', '/v1/organizations/g'),
  at('DELETE', '/v1/groups/made'),
  at('DELETE', '/v1/users/made'),
];

/** The endpoints for client tokens, for user `u` in group `g`. */
export const CLIENT_ENDPOINTS: readonly Endpoint[] = [
  at('GET', '/v1/client/viewer'),
  at('GET', '/v1/client/presence?groupID=g'),
  at('PUT', '/v1/client/presence', PRESENCE),
  at('GET', '/v1/client/groups/g/members'),
  at('POST', '/v1/client/threads', { id: 'c', groupID: 'g', name: 'C' }),
  at('GET', '/v1/client/threads?groupID=g'),
  at('GET', '/v1/client/threads/c'),
  at('PUT', '/v1/client/threads/c', { resolved: true }),
  at('PUT', '/v1/client/threads/c/seen', {}),
  at('POST', '/v1/client/threads/c/messages', { id: 'cm', content: MARKDOWN }),
  at('GET', '/v1/client/threads/c/messages'),
  at('GET', '/v1/client/threads/c/messages/cm'),
  at('PUT', '/v1/client/threads/c/messages/cm', { deleted: true }),
];

/** The endpoints for customer tokens, for the project with this ID. The deletion comes last. */
export const projectEndpoints = (id: string): readonly Endpoint[] => [
  at('POST', '/v1/projects', { name: 'Made' }),
  at('GET', '/v1/projects'),
  at('GET', `/v1/projects/${id}`),
  at('PUT', `/v1/projects/${id}`, { name: 'Renamed' }),
  at('POST', `/v1/projects/${id}/rotate-secret`, {}),
  at('DELETE', `/v1/projects/${id}`),
];

/** The paths that need no token. */
export const OPEN_PATHS = [
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/asyncapi.json',
  '/docs',
] as const;
