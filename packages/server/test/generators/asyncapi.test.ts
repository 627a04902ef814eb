import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import { judge, skipsGenerators } from './tools.ts';

interface Judgement {
  readonly isValid: boolean;
  readonly diagnostics: readonly { readonly severity: string; readonly rule: string; readonly at: string }[];
}

describe('the parser of AsyncAPI', { skip: skipsGenerators }, () => {
  const server = oneServer();
  let judgements: readonly Judgement[];

  before(async () => {
    const { text } = await (await server.started).request('GET', '/asyncapi.json');
    const broken = JSON.parse(text);
    broken.operations.auth.messages[0].$ref = '#/channels/socket/messages/nothing';
    judgements = await judge('asyncapi.mjs', [text, JSON.stringify(broken)]);
  });

  test('/asyncapi.json is valid to the parser of AsyncAPI, whose one remark is that there is a later version', () => {
    assert.ok(judgements[0]?.isValid);
    // Fewer tools take 3.1 than 3.0, and the description uses nothing of it.
    assert.deepEqual(
      judgements[0].diagnostics.map(({ severity, rule }) => [severity, rule]),
      [['warning', 'asyncapi-latest-version']],
    );
  });

  test('the parser of AsyncAPI rejects a description with a message that no channel has', () => {
    assert.equal(judgements[1]?.isValid, false);
  });
});
