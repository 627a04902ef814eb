/** Old records of changes on the embedded engine: each step is small, however many projects there are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withDirectory, withFile, withStore } from './sqlite-directory.ts';

const PROJECTS = 120;
const OLD = 100;
const NOW = 1_000;

/** Two records of each project; only those of the last project are old. */
const INSERT_RECORDS = `
  INSERT INTO changes (project_no, position, at, actor, changes)
  SELECT project_no, position, CASE WHEN project_no = (SELECT max(project_no) FROM projects) THEN ${OLD} ELSE ${NOW} END, '', '[]'
  FROM projects CROSS JOIN (SELECT 1 AS position UNION ALL SELECT 2)`;

test('a step of the removal of old changes reads 50 projects at most, and the next one goes on after them', () =>
  withDirectory((dataDir) =>
    withStore(dataDir, async (store) => {
      const { changes } = store;
      withFile(dataDir, (database) => {
        database.exec(`
          WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${PROJECTS})
          INSERT INTO projects (customer_id, id, secret, name, created_at) SELECT 'c', 'p' || n, 's', 'P', 0 FROM numbers`);
        database.exec(INSERT_RECORDS);
      });
      const left = () =>
        withFile(
          dataDir,
          (database) => database.prepare('SELECT count(*) AS count FROM changes').get()?.count,
        );
      const steps: (readonly [hasMore: boolean, removed: number])[] = [];
      for (let hasMore = true; hasMore; ) {
        hasMore = await changes.removeBefore(NOW);
        steps.push([hasMore, 2 * PROJECTS - Number(left())]);
      }
      // The newest record has the position after which the project goes on.
      assert.deepEqual(steps, [
        [true, 0],
        [true, 0],
        [false, 1],
      ]);
      // The next removal begins with the first project again.
      while (await changes.removeBefore(NOW + 1));
      assert.equal(left(), PROJECTS);
    }),
  ));
