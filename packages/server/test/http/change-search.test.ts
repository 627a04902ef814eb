import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withFile } from '../drivers/sqlite-directory.ts';
import { changesPage } from '../support/change-feed.ts';
import { expectOk } from '../support/expect.ts';
import { Project } from '../support/project-client.ts';
import { withServer } from '../support/server.ts';

/** Inserts records as writes do: so many would take long, one request each. */
const RECORDS = `
  WITH RECURSIVE n (position) AS (SELECT 1 UNION ALL SELECT position + 1 FROM n WHERE position < ?)
  INSERT INTO changes (project_no, position, at, actor, request_id, changes)
  SELECT project_no, position, unixepoch() * 1000, 'service', NULL, '[{"type":"user.created","user":"u' || position || '"}]'
  FROM n CROSS JOIN projects`;
const SEARCHED = 10_000;

test('with a filter that nothing fits a page is empty after 10,000 records while next moves on, until more is false', () =>
  withServer({}, async (server) => {
    withFile(server.dataDir, (database) => database.prepare(RECORDS).run(2 * SEARCHED + 1));
    const project = Project.of(server);
    expectOk(await project.put('/v1/users/last', {}));
    const pages = [await changesPage(project, { user: 'last' })];
    for (let page = pages[0]; page?.more === true; page = pages.at(-1))
      pages.push(await changesPage(project, { user: 'last', after: page.next }));
    const { next: end } = await changesPage(project, { after: 'latest' });
    assert.deepEqual(
      pages.map(({ changes, more, next }) => [changes.length, more, next.split('-')[1]]),
      [
        [0, true, `${SEARCHED}`],
        [0, true, `${2 * SEARCHED}`],
        [1, false, `${2 * SEARCHED + 2}`],
      ],
    );
    assert.equal(pages[2]?.next, end);
    project.close();
  }));
