import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Example } from '../../src/http/operation.ts';
import { markdown } from '../support/conversation.ts';
import { expectDone } from '../support/expect.ts';
import { type Answer, send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { ApiDescription, type DescribedOperation } from './api-description.ts';

const server = oneServer();
let api: ApiDescription;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
});

/** A project in the state that the examples assume. */
async function exampleProject(): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: ['ada', 'grace', 'linus'].map((id) => ({ id, name: `Name of ${id}` })),
    groups: [{ id: 'analysts', name: 'Analysts', members: ['ada', 'grace'] }],
  });
  expectDone(await project.put('/v1/threads/launch', { groupID: 'analysts', name: 'Launch date' }));
  const message = { authorID: 'ada', content: markdown('In June.') };
  expectDone(await project.put('/v1/threads/launch/messages/81', message));
  const webhook = { url: 'https://receiver.invalid/', status: 'paused' };
  assert.equal((await project.put('/v1/webhooks/search-index', webhook)).status, 201);
  return project;
}

const appToken = ({ id, secret }: Project) => jwt({ app_id: id, iat: seconds(Date.now()) }, secret);

async function accessToken(project: Project): Promise<string> {
  const answer = await project.post('/v1/authorize', { signed_app_token: appToken(project) });
  return answer.json<{ access_token: string }>().access_token;
}

/** A token that opens the operation. */
function tokenFor({ operation }: DescribedOperation, project: Project): string | Promise<string> | null {
  if (operation.operationId === 'revoke') return accessToken(project);
  const [scheme] = operation.security.flatMap((requirement) => Object.keys(requirement));
  if (scheme === 'customerToken') return server.running.customerToken;
  if (scheme === 'clientToken') {
    const claims = { user_id: 'ada', group_id: 'analysts', iat: seconds(Date.now()) };
    return jwt({ project_id: project.id, ...claims }, project.secret);
  }
  return scheme === undefined ? null : project.token;
}

/** IDs of projects and app tokens are those of this server; everything else is sent as in the description. */
function sendable(body: unknown, project: Project): unknown {
  const isAuthorization = typeof body === 'object' && body !== null && 'signed_app_token' in body;
  return isAuthorization ? { signed_app_token: appToken(project) } : body;
}

/** The path with the examples of its parameters, and with those of the query where `withQuery` or they are required. */
function targetOf(described: DescribedOperation, project: Project, withQuery: boolean): string {
  const query = new URLSearchParams();
  let { path } = described;
  for (const { name, in: source, required, style, example: value } of api.parameters(described)) {
    if (source === 'path') {
      path = path.replace(
        `{${name}}`,
        encodeURIComponent(name === 'project_id' ? project.id : String(value)),
      );
    } else if (source === 'query' && value !== undefined && (withQuery || required === true)) {
      // It belongs to streams: a reading with it is rejected.
      if (name === 'connectionID') continue;
      if (style === 'deepObject')
        for (const [key, part] of Object.entries(value as object)) query.set(`${name}[${key}]`, String(part));
      else for (const one of [value].flat()) query.append(name, String(one));
    }
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

async function call(described: DescribedOperation, withQuery: boolean, body?: unknown): Promise<Answer> {
  const project = await exampleProject();
  const token = await tokenFor(described, project);
  return send(server.running.url, described.method.toUpperCase(), targetOf(described, project, withQuery), {
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(sendable(body, project)) }),
  });
}

function expectSuccess(described: DescribedOperation, answer: Answer): void {
  const { operationId } = described.operation;
  assert.ok(answer.status < 300, `${operationId}: ${answer.status} ${answer.text}`);
  api.expectDescribed(described, answer);
}

describe('every described example can be sent, and is answered as described', () => {
  test('every request example of the API description can be sent, and is answered as described', async () => {
    for (const described of api.operations) {
      const bodies = described.operation.requestBody?.content['application/json']?.examples ?? {};
      for (const example of Object.values(bodies) as Example[]) {
        expectSuccess(described, await call(described, false, example.value));
      }
    }
  });

  test('every operation without a body, and every one with the examples of its query, is answered as described', async () => {
    for (const described of api.operations) {
      const { requestBody, operationId } = described.operation;
      // It answers an upgrade, which its own tests send.
      if (operationId === 'openSocket') continue;
      if (requestBody === undefined || !requestBody.required)
        expectSuccess(described, await call(described, true));
      if (requestBody === undefined) expectSuccess(described, await call(described, false));
    }
  });

  test('every request example of the API description is valid against the schema of its operation', () => {
    for (const { path, method, operation } of api.operations) {
      const media = operation.requestBody?.content['application/json'];
      const pointer = `/paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/${method}/requestBody`;
      for (const [name, example] of Object.entries(media?.examples ?? {})) {
        const at = `${pointer}/content/application~1json/schema`;
        api.expectValid(at, (example as Example).value, `${operation.operationId}: ${name}`);
      }
    }
  });
});
