/** The endpoints of the API, as specification and contract list them, each with a request that it takes. */

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  /** A body that fits; absent where none is read. */
  readonly body?: Record<string, unknown>;
}

const at = (method: string, path: string, body?: Record<string, unknown>): Endpoint => ({
  method,
  path,
  ...(body === undefined ? {} : { body }),
});

const PREFERENCE = { key: 'notification_channels', value: { sendViaMessenger: false } };
const PRESENCE = { groupID: 'g', location: { page: '1' } };

/** What takes a project, app or access token; for a project with user `u` in group `g`. Removals come last. */
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
  at('GET', '/v1/organizations'),
  at('PUT', '/v1/organizations/g', { name: 'G' }),
  at('GET', '/v1/organizations/g'),
  at('GET', '/v1/organizations/g/members'),
  at('POST', '/v1/organizations/g/members', { add: ['u'] }),
  at('DELETE', '/v1/organizations/g'),
  at('DELETE', '/v1/groups/made'),
  at('DELETE', '/v1/users/made'),
];

/** What takes a client token; for user `u` in group `g`. */
export const CLIENT_ENDPOINTS: readonly Endpoint[] = [
  at('GET', '/v1/client/viewer'),
  at('GET', '/v1/client/presence?groupID=g'),
  at('PUT', '/v1/client/presence', PRESENCE),
  at('GET', '/v1/client/groups/g/members'),
];

/** What takes a customer token, for a project with this ID. The removal comes last. */
export const projectEndpoints = (id: string): readonly Endpoint[] => [
  at('POST', '/v1/projects', { name: 'Made' }),
  at('GET', '/v1/projects'),
  at('GET', `/v1/projects/${id}`),
  at('PUT', `/v1/projects/${id}`, { name: 'Renamed' }),
  at('POST', `/v1/projects/${id}/rotate-secret`, {}),
  at('DELETE', `/v1/projects/${id}`),
];

/** What takes no token. */
export const OPEN_PATHS = ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'] as const;
