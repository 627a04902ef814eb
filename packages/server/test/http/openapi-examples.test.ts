import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Example } from '../../src/http/operation.ts';
import { expectDone } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import { ApiDescription, type DescribedOperation, pointerTo } from './api-description.ts';
import { ExampleRequest, exampleBodies, exampleProject } from './example-request.ts';

const server = oneServer();
let api: ApiDescription;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
});

async function call(described: DescribedOperation, isWhole: boolean, body?: unknown): Promise<Answer> {
  const project = await exampleProject(server);
  const request = new ExampleRequest(api, described, project, server.running.customerToken);
  return request.send({ query: request.query(isWhole), body });
}

function expectSuccess(described: DescribedOperation, answer: Answer): void {
  const { operationId } = described.operation;
  assert.ok(answer.status < 300, `${operationId}: ${answer.status} ${answer.text}`);
  api.expectDescribed(described, answer);
}

/** Where the description has the schema of the operation's body. */
const bodyPointer = ({ path, method }: DescribedOperation) =>
  pointerTo('paths', path, method, 'requestBody', 'content', 'application/json', 'schema');

describe('every described example can be sent, and is answered as described', () => {
  test('every request example of the API description can be sent, and is answered as described', async () => {
    for (const described of api.operations) {
      for (const { value } of exampleBodies(described))
        expectSuccess(described, await call(described, false, value));
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
    for (const described of api.operations) {
      const { requestBody, operationId } = described.operation;
      const media = requestBody?.content['application/json'];
      for (const [name, example] of Object.entries(media?.examples ?? {}))
        api.expectValid(bodyPointer(described), (example as Example).value, `${operationId}: ${name}`);
    }
  });
});

describe('every accepted URL is described', () => {
  for (const url of [
    'https://bücher.example/größe?q=ä',
    'http://a.example/{id}|"x"',
    'https://a.example/%zz',
  ]) {
    test(`the URL ${url} is accepted, and valid by the description of the request and of the answer`, async () => {
      const project = await exampleProject(server);
      const body = { authorID: 'ada', content: [{ type: 'link', url, children: [{ text: 'Read' }] }], url };
      api.expectValid(bodyPointer(api.operation('putMessage')), body, url);
      expectDone(await project.put('/v1/threads/launch/messages/link', body));
      expectSuccess(api.operation('getMessage'), await project.get('/v1/threads/launch/messages/link'));
      const picture = { profile_picture_url: url };
      api.expectValid(bodyPointer(api.operation('putUser')), picture, url);
      expectDone(await project.put('/v1/users/ada', picture));
      expectSuccess(api.operation('getUser'), await project.get('/v1/users/ada'));
    });
  }
});
