import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiConnection } from '../../src/cli/roster/api-connection.ts';
import { batchLimits } from '../../src/cli/roster/batch-planner.ts';
import { applyLines } from '../../src/cli/roster/batch-request.ts';
import { entryOf } from '../../src/cli/roster/roster-entry.ts';
import { fixedToken } from '../../src/cli/roster/token-source.ts';
import { closing } from '../support/closing.ts';
import { oneServer } from '../support/one-server.ts';
import { counts, jsonLines, syncText } from './roster-cli.ts';

const BODY_LIMIT_BYTES = 20_000;
const server = oneServer({ settings: { bodyLimitBytes: BODY_LIMIT_BYTES } });
const users = Array.from({ length: 2_000 }, (_, index) => ({ type: 'user', id: `user ${index}` }));

test('sync sends bodies as small as the server takes, and rejects a line that is too large by itself', async () => {
  const project = await server.project();
  const members = users.map(({ id }) => id);
  const groups = [
    { type: 'group', id: 'large', name: 'Large', members },
    { type: 'group', id: 'small', name: 'Small', members: members.slice(0, 1_000) },
  ];
  const { code, rejections, json } = await syncText(project, jsonLines([...users, ...groups]));
  assert.equal(code, 1);
  assert.deepEqual([json.users, json.groups], [counts(2_000), counts(1)]);
  assert.match(rejections.join('\n'), /^standard input:2001: rejected: invalid_request: /);
});

test('batches after a body that was too large are half as large', async () => {
  const { url, token } = await server.project();
  await using connection = closing(
    new ApiConnection({
      url: new URL(url),
      tokens: fixedToken(token),
      onRetry: assert.fail,
    }),
  );
  const limits = batchLimits();
  const entries = users.map(({ id }, index) => entryOf('user', { id }, { file: 'roster', line: index + 1 }));
  const verdict = await applyLines(connection, limits)(entries);
  assert.equal(verdict.kind, 'tooLarge');
  const sent = JSON.stringify({ users: entries.map(({ item }) => item), groups: [] }).length;
  assert.equal(limits.bytes, sent >> 1);
});
