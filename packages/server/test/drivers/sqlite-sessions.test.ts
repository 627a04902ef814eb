/** Ended sessions on the embedded engine: each write removes a few, so that no other write waits for many. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRoster } from '../contract/store/roster.ts';
import { withDirectory, withFile, withStore } from './sqlite-directory.ts';

const NOW = 1_000_000;
const ENDED = 2_300;
const MOST_AT_ONCE = 1_000;

/** Sessions that ended one after the other, and two that did not. */
const INSERT_SESSIONS = `
  WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ENDED})
  INSERT INTO sessions (id, project_no, expires_at)
  SELECT 'ended ' || n, ?, n FROM numbers
  UNION ALL SELECT 'at the end', 1, ${NOW} UNION ALL SELECT 'alive', 1, ${NOW + 1}`;

test('ended sessions are removed in steps of 1,000, the first to end first, until none is left', () =>
  withDirectory((dataDir) =>
    withStore(dataDir, async (store) => {
      const { key } = await newRoster(store);
      withFile(dataDir, (database) => database.prepare(INSERT_SESSIONS).run(key as number));
      const left = () =>
        withFile(dataDir, (database) =>
          database
            .prepare('SELECT id FROM sessions ORDER BY expires_at')
            .all()
            .map(({ id }) => id),
        );
      const steps: (readonly [hasMore: boolean, left: number, first: unknown])[] = [];
      for (let hasMore = true; hasMore; ) {
        hasMore = await store.sessions.removeExpired(NOW);
        const ids = left();
        steps.push([hasMore, ids.length - 2, ids[0]]);
      }
      assert.deepEqual(steps, [
        [true, ENDED - MOST_AT_ONCE, `ended ${MOST_AT_ONCE + 1}`],
        [true, ENDED - 2 * MOST_AT_ONCE, `ended ${2 * MOST_AT_ONCE + 1}`],
        [false, 0, 'at the end'],
      ]);
      assert.deepEqual(left(), ['at the end', 'alive']);
    }),
  ));
