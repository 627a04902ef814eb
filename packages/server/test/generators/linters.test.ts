import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import { judge, skipsGenerators } from './tools.ts';

interface LintError {
  readonly linter: string;
  readonly severity: 'error' | 'warning';
  readonly rule: string;
  readonly at: string;
  readonly message: string;
}

/** Warnings that stay, each with its reason. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'spectral info-contact': 'A server is its operator’s: the description cannot know whom to contact.',
  'spectral operation-success-response':
    'The success of the socket is 101, which is no status of 2xx or 3xx.',
  'redocly operation-2xx-response': 'The same.',
  'redocly no-ambiguous-paths':
    '`/v1/{user_id}/preferences` is a path of the specification. Paths with more fixed segments go before it.',
};

/** Where the accepted warnings may be. */
const EXCEPTED = /^(info|paths\/\/v1\/client\/socket\/|#\/paths\/~1v1~1client~1socket\/)|preferences/;

describe('linters of OpenAPI', { skip: skipsGenerators }, () => {
  const server = oneServer();
  let found: readonly LintError[] = [];
  let foundInBroken: readonly LintError[] = [];

  before(async () => {
    const { text } = await (await server.started).request('GET', '/openapi.json');
    const broken = JSON.parse(text);
    broken.paths['/v1/users'].get.operationId = 'listGroups';
    broken.paths['/v1/users'].post.requestBody.content['application/json'].schema.$ref = '#/nowhere';
    [found = [], foundInBroken = []] = await judge('lint.mjs', [text, JSON.stringify(broken)]);
  });

  test('the recommended rules of Spectral and Redocly find no error in the API description, and no warning without a reason', () => {
    const unexplained = found.filter(
      ({ linter, severity, rule, at, message }) =>
        severity === 'error' ||
        ACCEPTED[`${linter} ${rule}`] === undefined ||
        !EXCEPTED.test(`${at} ${message}`),
    );
    assert.deepEqual(unexplained, []);
    const left = new Set(found.map(({ linter, rule }) => `${linter} ${rule}`));
    assert.deepEqual([...left].sort(), Object.keys(ACCEPTED).sort());
  });

  test('the linters find what is wrong in a description', () => {
    const errors = foundInBroken.filter(({ severity }) => severity === 'error');
    assert.deepEqual([...new Set(errors.map(({ linter }) => linter))].sort(), ['redocly', 'spectral']);
  });
});
