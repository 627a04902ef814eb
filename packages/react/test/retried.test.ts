/** What hooks read again after an error that passes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RollcallClient } from '@rollcall/client';
import { StatusOfConnections } from '../../client/src/connection-status.ts';
import { RollcallError } from '../../client/src/index.ts';
import { retried } from '../src/retried.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('what could not be read is read again as soon as the client is connected', async (context) => {
  // No delay passes.
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const status = new StatusOfConnections();
  const connection = {};
  let readings = 0;
  const read = async () => {
    readings += 1;
    if (readings === 1) throw new RollcallError('network', 'the server was not reached');
    return 'ada';
  };
  const { signal } = new AbortController();
  const result = retried({ status } as RollcallClient, read, () => {}, signal);
  await settled();
  status.report(connection, 'reconnecting');
  await settled();
  assert.equal(readings, 1);
  status.report(connection, 'open');
  await settled();
  assert.equal(readings, 2);
  assert.equal(await result, 'ada');
});
