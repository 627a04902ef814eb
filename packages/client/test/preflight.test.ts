/** The preflight requests of a page of another origin. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { Browser } from '../../server/test/support/browser.ts';
import { Project } from '../../server/test/support/project-client.ts';
import { withServer } from '../../server/test/support/server.ts';
import { withPageSite } from './support/page-site.ts';

const PROGRAM = `
import { RollcallClient } from '/client.js';
const parameters = new URLSearchParams(location.search);
window.client = new RollcallClient({ url: parameters.get('url'), token: parameters.get('token'), socket: false });
`;

const PREFLIGHTS =
  /^rollcall_http_request_duration_seconds_count\{.*route="unmatched",status="204"\} (\d+)$/m;

describe('a page of another origin', { skip: skipsPages }, () => {
  test('a page sends one preflight for each of its addresses, however many requests follow', async () => {
    await withPageSite(PROGRAM, (site) =>
      withServer({ settings: { corsOrigins: site.origin } }, async (server) => {
        const project = Project.of(server);
        await project.seed({ users: [{ id: 'ada' }], groups: [{ id: 'g', name: 'G', members: ['ada'] }] });
        const { token } = await Browser.of(project, 'ada', 'g');
        const address = site.address({ url: server.url, token });
        await visit(address, {}, async ({ page }) => {
          const lines = await page.evaluate<string[]>(`(async () => {
            const lines = [];
            for (const line of ['a', 'b', 'c']) {
              await client.presence.put({ location: { line } });
              await client.viewer();
              const [{ ephemeral }] = await Array.fromAsync(client.presence.list());
              lines.push(ephemeral.locations.map(({ line }) => line).sort().join(' '));
            }
            return lines;
          })()`);
          assert.deepEqual(lines, ['a', 'a b', 'a b c'], 'a read shows the write before it');
        });
        const { text } = await server.request('GET', '/metrics');
        assert.equal(PREFLIGHTS.exec(text)?.[1], '3');
      }),
    );
  });
});
