/** The session of docs/socket.md, frame by frame. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SOCKET_CLOSES } from '@rollcall/protocol';
import { FRAMES } from '../../src/http/socket/frames/all-frames.ts';
import { Browser } from '../support/browser.ts';
import { oneServer } from '../support/one-server.ts';
import { SocketClient } from '../support/socket-client.ts';
import { fencesOf, tableOf } from './markdown.ts';

const server = oneServer();
const [session] = fencesOf('docs/socket.md').filter(({ language }) => language === 'frames');

describe('docs/socket.md', () => {
  test('the session of docs/socket.md runs as it is shown, on a socket', async () => {
    const project = await server.project();
    await project.seed({ users: [{ id: 'ada' }], groups: [{ id: 'analysts', name: 'A', members: ['ada'] }] });
    const { token } = Browser.of(project, 'ada', 'analysts');
    using socket = await SocketClient.open(project.url);
    let received = 0;
    for (const line of session?.code.trim().split('\n') ?? []) {
      const frame = JSON.parse(line.slice(1).replace('TOKEN', token));
      if (line.startsWith('>')) {
        socket.send(frame);
        continue;
      }
      await socket.until(line, () => socket.frames.length > received);
      const actual = socket.frames[received];
      received += 1;
      // The ID of an event is another one each time.
      assert.deepEqual(frame.id === undefined ? actual : { ...actual, id: '…' }, frame);
    }
    assert.ok(received > 10);
  });

  test('the table of frames in docs/socket.md has every op and its fields', () => {
    const listed = tableOf('docs/socket.md', 'Frame of the client').map(([op = '', fields = '']) => [
      op.replaceAll('`', ''),
      fields.replaceAll('`', '').split(', ').sort(),
    ]);
    const defined = FRAMES.map(({ op, schema: { properties, required } }) => [
      op,
      Object.keys(properties)
        .filter((name) => name !== 'op' && name !== 'ref')
        .map((name) => (required?.includes(name) ? name : `${name}?`))
        .sort(),
    ]);
    assert.deepEqual(Object.fromEntries(listed), Object.fromEntries(defined));
  });

  test('the table of closes in docs/socket.md has every close code', () => {
    const listed = tableOf('docs/socket.md', 'Close code').flatMap(([codes = '']) =>
      codes.split(', ').map(Number),
    );
    for (const code of Object.values(SOCKET_CLOSES)) assert.ok(listed.includes(code), `${code}`);
  });
});
