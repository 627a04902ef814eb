import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pino } from 'pino';
import type { Engine } from '../../src/wiring.ts';
import { altered, send, withApp } from './app-case.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

interface Line {
  readonly msg: string;
  readonly reqId?: string;
  readonly trace_id?: string;
}

const collecting = (lines: Line[]) =>
  pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });

suite('traceparent in the log', () => {
  /** The trace in the line of a request with this header. */
  const logged = async (traceparent: string | string[] | undefined) => {
    const lines: Line[] = [];
    await withApp({ log: collecting(lines) }, ({ app }) =>
      send(app, { url: '/v1/nowhere', headers: traceparent === undefined ? {} : { traceparent } }),
    );
    assert.equal(lines.length, 1);
    return (lines[0] as Line).trace_id;
  };

  for (const [what, header] of [
    ['of version 00', `00-${TRACE}-${SPAN}-01`],
    ['that is not sampled', `00-${TRACE}-${SPAN}-00`],
    ['of a later version', `cc-${TRACE}-${SPAN}-01`],
    ['of a later version with further fields', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1_000)}`],
  ] as const) {
    test(`a traceparent ${what} puts its trace into the request's line`, async () => {
      assert.equal(await logged(header), TRACE);
    });
  }

  for (const [what, header] of [
    ['absent', undefined],
    ['empty', ''],
    ['of version ff', `ff-${TRACE}-${SPAN}-01`],
    ['of version 00 with further fields', `00-${TRACE}-${SPAN}-01-more`],
    ['of a later version with more digits', `cc-${TRACE}-${SPAN}-01more`],
    ['in upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['with a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['with a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['without flags', `00-${TRACE}-${SPAN}`],
    ['too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['sent twice', [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`]],
  ] as const) {
    test(`a traceparent that is ${what} is ignored`, async () => {
      assert.equal(await logged(header as string), undefined);
    });
  }

  test('every line of a request has its trace: failures, and projects that are created or deleted', async () => {
    const lines: Line[] = [];
    const disturb = ({ store }: Engine) => ({
      store: altered(store, { groups: { find: () => Promise.reject(new Error('broken')) } }),
    });
    await withApp({ log: collecting(lines), disturb }, async ({ call, customerAuthorization }) => {
      const traceparent = `00-${TRACE}-${SPAN}-01`;
      assert.equal((await call('GET', '/v1/groups/g', { headers: { traceparent } })).statusCode, 500);
      const headers = { traceparent, authorization: customerAuthorization };
      const created = await call('POST', '/v1/projects', { headers, payload: { name: 'New' } });
      await call('DELETE', `/v1/projects/${created.json<{ id: string }>().id}`, { headers });
    });
    const named = lines.filter(({ reqId }) => reqId !== undefined);
    assert.deepEqual(
      named.map(({ msg, trace_id }) => [msg, trace_id]),
      ['a request failed', 'request', 'project created', 'request', 'project deleted', 'request'].map(
        (msg) => [msg, TRACE],
      ),
    );
  });
});
