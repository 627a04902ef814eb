/** PostgreSQL cannot begin the transaction of a write, or an operator cancels it just as it begins or ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { closing } from '../support/closing.ts';
import { markdown, messageOf, messagePath, threadPath } from '../support/conversation.ts';
import { expectError, expectOk } from '../support/expect.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Project } from '../support/project-client.ts';
import { withServer } from '../support/server.ts';
import { SlowProxy } from '../support/slow-proxy.ts';

/** Too long for an append that shares the transaction of others. */
const TEXT = 'appended'.repeat(1_000);
/** Errors of PostgreSQL. */
const CANCELED = '57014';
/** After which a write is made again. */
const LOST_RACE = '40001';

/** Of the protocol: a type, the length without it, and a text that ends with a zero. */
function queryMessage(text: string): Buffer {
  const message = Buffer.from(`Q....${text}\0`);
  message.writeUInt32BE(message.length - 1, 1);
  return message;
}

/** In place of the query that begins with this text, one that ends with the error. */
function failAt(sent: Buffer, text: string, error: string): Buffer {
  const failing = queryMessage(`DO $$BEGIN RAISE SQLSTATE '${error}'; END$$`);
  const start = sent.indexOf(text) - failing.indexOf('DO');
  const end = start + 1 + sent.readUInt32BE(start + 1);
  return Buffer.concat([sent.subarray(0, start), failing, sent.subarray(end)]);
}

/** A message `m` in the thread `t`, and the way of its server to PostgreSQL. */
const withMessage = (use: (project: Project, proxy: SlowProxy) => Promise<void>) =>
  withDatabase((url) =>
    SlowProxy.with(url, (proxy, databaseUrl) =>
      withServer({ settings: { databaseUrl } }, async (server) => {
        await using project = closing(Project.of(server));
        await project.seedGroup('g', 'u');
        expectOk(await project.put(threadPath('t'), { groupID: 'g', name: 'T' }));
        expectOk(await project.put(messagePath('t', 'm'), { authorID: 'u', content: markdown('') }));
        await use(project, proxy);
      }),
    ),
  );

const append = (project: Project) => project.post(`${messagePath('t', 'm')}/append`, { text: TEXT });

describe('a write whose transaction does not begin or end', { skip: skipsPostgres }, () => {
  for (const [what, query, error] of [
    ['beginning is canceled', 'BEGIN', CANCELED],
    ['beginning fails', 'BEGIN', LOST_RACE],
    ['end is canceled', 'COMMIT\0', CANCELED],
  ] as const) {
    test(`a write whose ${what} is answered 503 and applied once at most, and later writes succeed`, () =>
      withMessage(async (project, proxy) => {
        let failed = 0;
        proxy.rewrites = (sent) => {
          if (failed > 0 || !sent.includes(TEXT) || !sent.includes(query)) return sent;
          failed += 1;
          return failAt(sent, query, error);
        };
        expectError(await append(project), 503, 'error');
        assert.equal(failed, 1);
        for (let later = 0; later < 10; later += 1) expectOk(await append(project));
        // PostgreSQL commits the statements behind a beginning that fails one by one, unless it notices before that the connection has ended.
        const { length } = (await messageOf(project, 't', 'm')).plaintext;
        assert.ok([10, 11].includes(length / TEXT.length), `${length / TEXT.length} times`);
      }));
  }
});
