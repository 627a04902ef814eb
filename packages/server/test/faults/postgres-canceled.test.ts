/** An operator cancels what PostgreSQL does for a write, just as its transaction begins or ends. */
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
/** Ends with the error of a statement that was canceled. */
const CANCELED = queryMessage(`DO $$BEGIN RAISE SQLSTATE '57014'; END$$`);

/** Of the protocol: a type, the length without it, and a text that ends with a zero. */
function queryMessage(text: string): Buffer {
  const message = Buffer.from(`Q....${text}\0`);
  message.writeUInt32BE(message.length - 1, 1);
  return message;
}

/** Replaces the query that begins with this text. */
function cancel(sent: Buffer, text: string): Buffer {
  const start = sent.indexOf(text) - CANCELED.indexOf('DO');
  const end = start + 1 + sent.readUInt32BE(start + 1);
  return Buffer.concat([sent.subarray(0, start), CANCELED, sent.subarray(end)]);
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

describe('a write whose transaction an operator cancels', { skip: skipsPostgres }, () => {
  for (const [when, text, applied] of [
    // PostgreSQL commits the statements behind it one by one.
    ['beginning', 'BEGIN', TEXT],
    ['end', 'COMMIT\0', ''],
  ] as const) {
    test(`a write whose ${when} is canceled is answered 503 and applied once at most, and later writes succeed`, () =>
      withMessage(async (project, proxy) => {
        let canceled = 0;
        proxy.rewrites = (sent) => {
          if (canceled > 0 || !sent.includes(TEXT)) return sent;
          canceled += 1;
          return cancel(sent, text);
        };
        expectError(await append(project), 503, 'error');
        assert.equal(canceled, 1);
        assert.equal((await messageOf(project, 't', 'm')).plaintext, applied);
        for (let later = 0; later < 10; later += 1) expectOk(await append(project));
        assert.equal((await messageOf(project, 't', 'm')).plaintext, applied + TEXT.repeat(10));
      }));
  }
});
