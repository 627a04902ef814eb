import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, describe, test } from 'node:test';
import { curlExample } from '../../src/api-description/page/curl.ts';
import { SERVER_ADDRESS } from '../../src/api-description/page/server-address.ts';
import type { Example } from '../../src/http/operation.ts';
import { ApiDescription, type DescribedOperation } from '../http/api-description.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();
let api: ApiDescription;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
});

/** The arguments that a shell passes to curl. */
function argumentsOf(example: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\nTOKEN=t CUSTOMER_TOKEN=c CLIENT_TOKEN=b\n${example}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

function argumentsFor({ path, method, operation }: DescribedOperation, body: unknown): string[] {
  return argumentsOf(curlExample(api.document, path, method, operation, body));
}

describe('the curl lines of the page', () => {
  test('the curl lines of the page, pasted into a shell, send the described request', () => {
    for (const described of api.operations) {
      const { operation, method } = described;
      const examples = operation.requestBody?.content['application/json']?.examples ?? {};
      const [body] = (Object.values(examples) as Example[]).map(({ value }) => value);
      const sent = argumentsFor(described, body);
      const target = sent.find((argument) => argument.startsWith(`${SERVER_ADDRESS}/`));
      assert.match(String(target), /^http:\/\/server\.invalid\/[^{} ]+$/, operation.operationId);
      assert.equal(sent.includes('GET') || !sent.includes('-X'), method === 'get');
      const data = sent.includes('-d') ? JSON.parse(sent[sent.indexOf('-d') + 1] as string) : undefined;
      assert.deepEqual(data, body, operation.operationId);
      const [scheme] = operation.security.flatMap((requirement) => Object.keys(requirement));
      const token = { projectToken: 'Bearer t', customerToken: 'Bearer c', clientToken: 'Bearer b' }[
        scheme ?? ''
      ];
      assert.equal(sent.find((argument) => argument.startsWith('Authorization: '))?.slice(15), token);
    }
  });

  test('the curl lines of the page survive quotes, backslashes and dollars in a body', () => {
    const body = { name: `it's "quoted" \\ $HOME \`id\` 'twice'` };
    const sent = argumentsFor(api.operation('putGroup'), body);
    assert.deepEqual(JSON.parse(sent.at(-1) as string), body);
  });

  test('the curl lines of the page have the required query parameters', () => {
    const sent = argumentsFor(api.operation('getUserPresence'), undefined);
    assert.ok(sent.includes('http://server.invalid/v1/users/ada/presence?groupID=analysts'), sent.join(' '));
  });
});
