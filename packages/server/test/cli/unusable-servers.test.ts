/** Servers that respond and cannot be used: the start and `rollcall doctor` name the reason. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { withDataDir } from '../support/server.ts';
import { CHECKOUT, rollcall } from './cli-process.ts';

type Settings = Record<string, string>;

/** The only line of a start that fails. */
const failedStart = (env: Settings) =>
  withDataDir(async (dataDir) => {
    const settings = { ROLLCALL_DATA_DIR: dataDir, ROLLCALL_PORT: '0', ...env };
    const { code, stderr } = await rollcall(['serve'], { program: CHECKOUT, env: settings });
    assert.equal(code, 1, stderr);
    return stderr;
  });

/** What the doctor finds of a server that fails its check. */
const failedCheck = (name: string, env: Settings) =>
  withDataDir(async (dataDir) => {
    const settings = { ROLLCALL_DATA_DIR: dataDir, ROLLCALL_PORT: '1', ...env };
    const { code, stdout } = await rollcall(['doctor', '--json'], { program: CHECKOUT, env: settings });
    assert.equal(code, 1, stdout);
    const checks = JSON.parse(stdout) as { name: string; outcome: string; found: string; advice: string }[];
    const check = checks.find((one) => one.name === name);
    assert.equal(check?.outcome, 'failed', stdout);
    return `${check.found}: ${check.advice}`;
  });

describe('a PostgreSQL that cannot store all texts', { skip: skipsPostgres }, () => {
  for (const encoding of ['LATIN1', 'SQL_ASCII'])
    test(`a start on a database with the encoding ${encoding} fails with one line, creates no table, and rollcall doctor reports the encoding`, () =>
      withDatabase(async (url) => {
        const env = { ROLLCALL_DATABASE_URL: url };
        assert.match(await failedStart(env), new RegExp(`^rollcall: .*encoding ${encoding}.*UTF8.*\n$`));
        const { rows } = await withClient(url, (client) =>
          client.query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'"),
        );
        assert.deepEqual(rows, []);
        assert.match(await failedCheck('PostgreSQL', env), new RegExp(`encoding ${encoding}.*UTF8`));
      }, `ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`));
});
