import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildDocument } from '../../src/api-description/build-document.ts';
import type { MediaType, Schema } from '../../src/api-description/openapi-document.ts';
import { OPERATIONS } from '../../src/http/operations/all-operations.ts';
import { clientToken } from '../support/browser.ts';
import { expectDone } from '../support/expect.ts';
import { type Claims, jwt, seconds } from '../support/jwt.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { ApiDescription, type DescribedOperation } from './api-description.ts';
import {
  accessToken,
  ExampleRequest,
  exampleBodies,
  exampleProject,
  tokenKind,
  type Variation,
} from './example-request.ts';

const MAX_BYTES = 4_096;
const server = oneServer({ settings: { bodyLimitBytes: MAX_BYTES } });
const api = new ApiDescription(buildDocument(OPERATIONS));

/** Statuses of a server that is busy, fails or is away: tests of their own reach them. */
const UNREACHED = ['429', '500', '503'];

/** The example project, with a group that is set deleted and a thread of it, and a user who is set deleted. */
async function projectOfErrors(): Promise<Project> {
  const project = await exampleProject(server);
  await project.seed({
    users: [{ id: 'former', status: 'deleted' }],
    groups: [{ id: 'archive', name: 'Archive', members: ['ada'] }],
  });
  expectDone(await project.put('/v1/threads/old', { groupID: 'archive', name: 'Old' }));
  for (const path of ['launch/messages/plain', 'old/messages/81'])
    expectDone(await project.put(`/v1/threads/${path}`, { authorID: 'ada', content: [{ text: 'Hi' }] }));
  expectDone(await project.put('/v1/groups/archive', { status: 'deleted' }));
  return project;
}

const bearer = (token: string) => `Bearer ${token}`;
const signed = (claims: Claims, secret: string) =>
  bearer(jwt({ iat: seconds(Date.now()), ...claims }, secret));

/** Values of the Authorization header with which the operation is rejected, or may be. */
async function authorizationsOf(described: DescribedOperation, project: Project): Promise<(string | null)[]> {
  const kind = tokenKind(described);
  if (kind === undefined) return [];
  const { id, secret } = project;
  const user = { user_id: 'ada' };
  if (kind === 'customerToken')
    return [null, 'Basic YTpi', bearer(project.token), bearer(clientToken(project, user))];
  const claims = kind === 'clientToken' ? user : {};
  const revoked = bearer(await accessToken(project));
  await project.delete('/v1/authorize', { authorization: revoked });
  return [
    null,
    'Basic YTpi',
    ...['project_id', 'app_id'].flatMap((claim) => [
      signed({ ...claims, [claim]: 'none' }, secret),
      signed({ ...claims, [claim]: id }, 'wrong'),
    ]),
    ...(kind === 'clientToken' ? [bearer(project.token)] : []),
    bearer(clientToken(project, user)),
    bearer(server.running.customerToken),
    revoked,
    bearer(clientToken(project, { user_id: 'former', group_id: 'analysts' })),
    bearer(clientToken(project, { ...user, group_id: 'archive' })),
    bearer(clientToken(project, { ...user, organization_id: 'archive' })),
  ];
}

const MEMBERS = ['none'];
const NEW_GROUP = { group_id: 'new', organization_id: 'new' };
const LOCATION = { page: '1' };
const IN_ARCHIVE = { groupID: 'archive', name: 'Name' };
const CONTENT = [{ text: 'Hi' }];
const NO_MATCH = { 'if-match': '"0"' };
/** A position in the changes of another epoch of the store. */
const after = 'none-1-0';
const UPGRADE = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'rollcall.v1',
};
/** The key of the example in RFC 6455. */
const KEY = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };

const appTokenOf = (claims: Claims): Variation => ({
  body: { signed_app_token: jwt({ iat: seconds(Date.now()), ...claims }, 'wrong') },
});

/** Requests that one operation alone rejects, by its ID; those of groups also under their older name. */
const OWN: Readonly<Record<string, readonly Variation[]>> = {
  createGroup: [{ body: { id: 'new', name: 'New', members: MEMBERS } }],
  putGroup: [{ body: { members: MEMBERS } }, { path: NEW_GROUP, body: {} }],
  changeGroupMembers: [{ body: { add: MEMBERS } }],
  getUserPresence: [{ query: 'groupID=none' }],
  putPresence: [
    { body: { groupID: 'none', location: LOCATION } },
    { body: { organizationID: 'none', location: LOCATION } },
  ],
  putClientPresence: [{ body: { organizationID: 'none', location: LOCATION } }],
  listThreads: [{ query: 'groupID=none' }, { headers: { accept: 'text/event-stream' } }],
  createThread: [{ body: IN_ARCHIVE }],
  putThread: [
    { path: { thread_id: 'new' }, body: {} },
    { path: { thread_id: 'new' }, body: IN_ARCHIVE },
  ],
  createMessage: [
    { body: { authorID: 'none', content: CONTENT } },
    { path: { thread_id: 'old' }, body: { authorID: 'ada', content: CONTENT } },
  ],
  putMessage: [
    { path: { message_id: 'new' }, body: {} },
    { path: { message_id: 'new' }, body: { authorID: 'none', content: CONTENT } },
    { path: { thread_id: 'old' }, body: { content: CONTENT } },
  ],
  appendToMessage: [
    { path: { message_id: 'plain' }, body: { text: '!' } },
    { path: { thread_id: 'old' }, body: { text: '!' } },
  ],
  // The user's token is tried before, and has created what the example names.
  createClientThread: [{ body: { groupID: 'analysts', name: 'Name' }, headers: NO_MATCH }],
  createClientMessage: [{ body: { content: CONTENT }, headers: NO_MATCH }],
  markClientThreadSeen: [{ body: { messageID: 'none' } }],
  openSocket: [{ headers: UPGRADE }, { headers: { ...UPGRADE, ...KEY, origin: 'https://other.example' } }],
  applyBatch: [
    { body: { users: [{}] } },
    { body: { groups: [{ id: 'new', name: 'New', members: MEMBERS }] } },
  ],
  listChanges: [{ query: `after=${after}` }],
  putWebhook: [
    { path: { webhook_id: 'new' }, body: {} },
    { path: { webhook_id: 'new' }, body: { url: 'https://receiver.invalid/', after } },
  ],
  replayWebhook: [{ body: { after } }],
  authorize: [{ app_id: 'none' }, {}].map(appTokenOf),
};

/** Requests that the operation rejects, or may reject. Those that succeed somewhere come last. */
async function requestsOf(described: DescribedOperation, project: Project): Promise<Variation[]> {
  const [body] = exampleBodies(described).map(({ value }) => value);
  const authorizations = await authorizationsOf(described, project);
  const ids = api.parameters(described).filter((parameter) => parameter.in === 'path');
  const each = (value: string) => ids.map(({ name }) => ({ body, path: { [name]: value } }));
  const bodies = ['[]', {}, { none: 1 }, ' '.repeat(MAX_BYTES + 1)];
  return [
    ...authorizations.map((authorization) => ({ body, authorization })),
    ...(OWN[described.operation.operationId.replace('Organization', 'Group')] ?? []),
    { body, query: 'none=1' },
    { body, query: 'none=%ZZ' },
    { body, query: 'none#' },
    ...(body === undefined ? [] : bodies.map((wrong) => ({ body: wrong }))),
    ...each('%00'),
    ...each('none'),
    { body, headers: NO_MATCH },
    { body, headers: { 'if-none-match': '*' } },
    // What a creation has made exists from then on.
    { body },
    { body },
    { body, query: '' },
  ];
}

/** The status and the code of every error that the description of the operation lists. */
const listed = (described: DescribedOperation) =>
  Object.keys(described.operation.responses)
    .filter((status) => status >= '400' && !UNREACHED.includes(status))
    .flatMap((status) => codesOf(described, status).map((code) => `${status} ${code}`));

function codesOf(described: DescribedOperation, status: string): string[] {
  const { value } = api.response(described, Number(status));
  const media = value.content?.['application/json'] as MediaType;
  const [, narrowed] = media.schema.allOf as [Schema, Schema];
  return narrowed.properties?.error?.enum as string[];
}

describe('the errors of an operation', () => {
  for (const described of api.operations) {
    const { operationId } = described.operation;
    test(`${operationId} answers the errors that its description lists, and no others`, async () => {
      const project = await projectOfErrors();
      const request = new ExampleRequest(api, described, project, server.running.customerToken);
      const answered = new Set<string>();
      for (const variation of await requestsOf(described, project)) {
        const answer = await request.send(variation);
        if (answer.status < 400) continue;
        api.expectDescribed(described, answer);
        answered.add(`${answer.status} ${answer.json<{ error: string }>().error}`);
      }
      assert.deepEqual([...answered].sort(), listed(described).sort());
    });
  }
});
