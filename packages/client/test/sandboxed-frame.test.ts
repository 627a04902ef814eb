/** A page in a sandboxed frame has no origin, so that the browser gives it neither locks nor storage. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { withServer } from '../../server/test/support/server.ts';
import { Rollcall } from '../src/index.ts';
import { signClientToken } from '../src/server/index.ts';
import { withPageSite } from './support/page-site.ts';

const PROGRAM = `
import { RollcallClient } from '/client.js';
const parameters = new URLSearchParams(location.search);
window.arrived = [];
window.error = null;
const watch = async () => {
  const client = new RollcallClient({
    url: parameters.get('url'), token: parameters.get('token'), socket: parameters.get('socket') === 'true',
  });
  for await (const event of client.presence.watch()) {
    if (event.type === 'snapshot') client.presence.announce({ location: { page: 'framed' } });
    else arrived.push([event.type, event.id]);
  }
};
if (parameters.has('frame')) {
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  frame.src = parameters.get('frame');
  document.body.append(frame);
} else watch().catch(({ message }) => { window.error = message; });
`;

describe('a page in a sandboxed frame', { skip: skipsPages }, () => {
  for (const socket of [true, false]) {
    test(`a page in a sandboxed frame watches and announces presence ${socket ? 'through a socket' : 'without WebSocket'}`, async () => {
      await withPageSite(PROGRAM, (pages) =>
        withServer(
          { settings: { corsOrigins: '*' } },
          async ({ url, projectId, projectSecret, projectToken }) => {
            const rollcall = new Rollcall({ url, token: projectToken });
            await rollcall.batch({
              users: [{ id: 'ada' }],
              groups: [{ id: 'g', name: 'G', members: ['ada'] }],
            });
            const sign = { projectID: projectId, secret: projectSecret, userID: 'ada', groupID: 'g' };
            const token = await signClientToken(sign);
            const address = pages.address({ url, token, socket: `${socket}` });
            await visit(pages.address({ frame: address }), {}, async ({ page, complaints }) => {
              const frame = await page
                .locator('iframe')
                .elementHandle()
                .then((element) => element?.contentFrame());
              await frame?.waitForFunction('window.error ?? window.arrived?.[0]');
              assert.equal(await frame?.evaluate('window.error'), null);
              assert.deepEqual(await frame?.evaluate('window.arrived'), [['arrived', 'ada']]);
              assert.deepEqual(complaints, []);
            });
            await rollcall.close();
          },
        ),
      );
    });
  }
});
