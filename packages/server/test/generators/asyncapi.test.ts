import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import { judge, skipsGenerators } from './tools.ts';

interface Judgement {
  readonly isValid: boolean;
  readonly diagnostics: readonly { readonly severity: string; readonly rule: string; readonly at: string }[];
}

describe('the parser of AsyncAPI', { skip: skipsGenerators }, () => {
  const server = oneServer();
  const parse = (document: string) => judge<Judgement>('asyncapi.mjs', document);
  const read = async () => (await server.running.request('GET', '/asyncapi.json')).text;

  test('/asyncapi.json is valid to the parser of AsyncAPI, whose one remark is that there is a later version', async () => {
    const { isValid, diagnostics } = await parse(await read());
    assert.ok(isValid);
    // Fewer tools take 3.1 than 3.0, and the description uses nothing of it.
    assert.deepEqual(
      diagnostics.map(({ severity, rule }) => [severity, rule]),
      [['warning', 'asyncapi-latest-version']],
    );
  });

  test('the parser of AsyncAPI rejects a description with a message that no channel has', async () => {
    const document = JSON.parse(await read());
    document.operations.auth.messages[0].$ref = '#/channels/socket/messages/nothing';
    assert.equal((await parse(JSON.stringify(document))).isValid, false);
  });
});
