/** Changes that no process was notified of, as after a process was killed, or while Redis is away. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { changesPage } from '../support/change-feed.ts';
import { closing } from '../support/closing.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { Project } from '../support/project-client.ts';
import { orderAll } from '../support/recorded.ts';
import { withServer } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until, within } from '../support/waiting.ts';

const VISIBLE_MS = 5_000;
/** A record as the commit of a write leaves it: without a position. */
const RECORD = `
  INSERT INTO written_changes (project_id, at, actor, request_id, changes)
  SELECT project_id, 1, 'service', $1, ARRAY['[{"type":"user.created","user":"u"}]'] FROM projects WHERE id = $2`;

describe('changes without a notification', { skip: skipsPostgres }, () => {
  test('a change of a process that was killed after its commit is visible within 5 s on every process', () =>
    withDatabase((databaseUrl) =>
      withServer({ settings: { databaseUrl } }, async (server) => {
        await using project = closing(Project.of(server));
        await withClient(databaseUrl, (client) => client.query(RECORD, ['killed', project.id]));
        const isVisible = async () => (await changesPage(project)).changes.length === 1;
        await until('the change', isVisible, VISIBLE_MS);
      }),
    ));

  test('a stream shows a change within 5 s that another process has ordered without a notification', () =>
    withDatabase((databaseUrl) =>
      withServer({ settings: { databaseUrl } }, async ({ url, projectId, projectToken }) => {
        using reader = await StreamReader.open({ url, token: projectToken }, '/v1/changes');
        await using other = closing(await openPostgresStore({ url: databaseUrl }));
        await withClient(databaseUrl, (client) => client.query(RECORD, ['lost', projectId]));
        await orderAll(other);
        const shown = reader.until('the change', () => reader.events.length === 1);
        await within(VISIBLE_MS, shown, 'the change');
        assert.equal(reader.events[0]?.data.request_id, 'lost');
      }),
    ));
});
