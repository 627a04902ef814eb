import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Example } from '../../src/http/operation.ts';
import type { Answer } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import { ApiDescription, type DescribedOperation } from './api-description.ts';
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
