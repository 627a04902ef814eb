import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SETTING_NAMES, SETTINGS, type SettingName } from '../../src/config/setting-definitions.ts';
import { loadSettings, SettingsError } from '../../src/config/settings.ts';
import { unknownVariables } from '../../src/config/unknown-variables.ts';

/** Runs the reader and gives the one line that it fails with. */
function rejection(
  environment: Record<string, string>,
  flags: Parameters<typeof loadSettings>[1] = {},
): string {
  try {
    loadSettings(environment, flags);
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    assert.ok(!error.message.includes('\n'), 'more than one line');
    return error.message;
  }
  throw assert.fail('the settings were taken');
}

const SECRET = 'sixteen letters!';

/** For each setting a value that is taken, and values that are not. */
const CASES: Record<SettingName, { good: Record<string, unknown>; bad: string[] }> = {
  host: {
    good: {
      '0.0.0.0': '0.0.0.0',
      '::': '::',
      'fe80::1%eth0': 'fe80::1%eth0',
      'fe80::1%wg_home': 'fe80::1%wg_home',
      localhost: 'localhost',
      my_host: 'my_host',
    },
    bad: [
      'a\0b',
      'a b',
      '[::1]',
      'http://localhost',
      'localhost:8080',
      '127.0.0.1/8',
      '127.0.0.1,10.0.0.1',
      '*',
      'localhost%eth0',
    ],
  },
  port: { good: { '0': 0, '65535': 65_535 }, bad: ['65536', '-1', '80.5', '0x50', 'http', ' 80', '1e3'] },
  dataDir: { good: { '/var/lib/rollcall': '/var/lib/rollcall' }, bad: ['a\0b'] },
  databaseUrl: {
    good: {
      'postgres://a:b@db/rollcall': 'postgres://a:b@db/rollcall',
      'postgresql://db': 'postgresql://db',
    },
    bad: ['mysql://db/rollcall', 'postgres://', 'db'],
  },
  redisUrl: {
    good: { 'redis://cache:6379': 'redis://cache:6379', 'rediss://cache': 'rediss://cache' },
    bad: ['cache:6379'],
  },
  presenceTtlSeconds: { good: { '1': 1, '86400': 86_400 }, bad: ['0', '86401', '30s'] },
  changesSeconds: { good: { '60': 60, '315360000': 315_360_000 }, bad: ['59', '315360001', '30d'] },
  presenceMergeMs: { good: { '0': 0, '10000': 10_000 }, bad: ['-1', '10001', '500ms'] },
  bodyLimitBytes: { good: { '1024': 1_024, '536870912': 536_870_912 }, bad: ['1023', '536870913', '32MiB'] },
  bodiesMemoryBytes: {
    good: { '1048576': 1_048_576, '1099511627776': 1_099_511_627_776 },
    bad: ['1048575', '1099511627777', '1GiB'],
  },
  stopDelaySeconds: { good: { '0': 0, '300': 300 }, bad: ['-1', '301', '1s'] },
  socketsWaiting: { good: { '1': 1, '1000000': 1_000_000 }, bad: ['0', '1000001', 'many'] },
  socketTimeoutSeconds: { good: { '1': 1, '3600': 3_600 }, bad: ['0', '3601', '10s'] },
  logLevel: { good: { trace: 'trace', fatal: 'fatal' }, bad: ['INFO', 'verbose'] },
  rateLimitPerSecond: { good: { '1': 1, '1000000': 1_000_000 }, bad: ['0', '1000001', 'off'] },
  webhooksAllow: {
    good: {
      '10.0.0.0/8': '10.0.0.0/8',
      '127.0.0.1, fd00::/8,127.0.0.1': '127.0.0.1,fd00::/8',
    },
    bad: ['10.0.0.0/33', 'localhost', '10.0.0.0/8,', '10.0.0/8', 'fd00::/129', 'all'],
  },
  corsOrigins: {
    good: {
      '*': '*',
      'https://app.example.com': 'https://app.example.com',
      'HTTPS://App.example.com/, http://localhost:5173,http://localhost:5173':
        'https://app.example.com,http://localhost:5173',
    },
    bad: [
      'app.example.com',
      'https://app.example.com/path',
      'https://a.example,',
      '*,https://a.example',
      'https://*.example.com',
      'https://me@a.example',
      'ftp://a.example',
      'null',
    ],
  },
  customerId: { good: { 'ac me/ü': 'ac me/ü' }, bad: ['a\u0007b', 'x'.repeat(321)] },
  customerSecret: { good: { [SECRET]: SECRET }, bad: ['fifteen letters'] },
  projectId: { good: { p: 'p' }, bad: ['a\u200bb', 'x'.repeat(321)] },
  projectSecret: { good: { [SECRET]: SECRET }, bad: ['fifteen letters'] },
};

/** The other half of a pair, which no half goes without. */
const PARTNERS: Partial<Record<SettingName, [SettingName, string]>> = {
  customerId: ['customerSecret', SECRET],
  customerSecret: ['customerId', 'c'],
  projectId: ['projectSecret', SECRET],
  projectSecret: ['projectId', 'p'],
};

describe('settings of the server', () => {
  test('every setting has the default of the contract', () => {
    assert.deepEqual(loadSettings({}), {
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      databaseUrl: null,
      redisUrl: null,
      presenceTtlSeconds: 30,
      changesSeconds: 2_592_000,
      presenceMergeMs: 500,
      bodyLimitBytes: 32 * 1_024 * 1_024,
      bodiesMemoryBytes: 256 * 1_024 * 1_024,
      stopDelaySeconds: 1,
      socketsWaiting: 1_000,
      socketTimeoutSeconds: 10,
      logLevel: 'info',
      rateLimitPerSecond: null,
      corsOrigins: null,
      webhooksAllow: null,
      customerId: null,
      customerSecret: null,
      projectId: null,
      projectSecret: null,
    });
  });

  test('the flag and the variable of a setting have its name', () => {
    for (const name of SETTING_NAMES) {
      const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      assert.equal(SETTINGS[name].flag, `--${words}`);
      assert.equal(SETTINGS[name].env, `ROLLCALL_${words.replaceAll('-', '_').toUpperCase()}`);
    }
  });

  for (const name of SETTING_NAMES) {
    const { env, flag } = SETTINGS[name];
    const partner = PARTNERS[name];
    const others = partner === undefined ? {} : { [SETTINGS[partner[0]].env]: partner[1] };

    test(`${env} takes valid values from the environment and from ${flag}`, () => {
      for (const [text, value] of Object.entries(CASES[name].good)) {
        assert.deepEqual(loadSettings({ ...others, [env]: text })[name], value);
        assert.deepEqual(loadSettings(others, { [name]: text })[name], value);
      }
    });

    test(`${env} rejects other values with one line that names it and what is expected`, () => {
      for (const text of CASES[name].bad) {
        const expected = SETTINGS[name].kind.expected;
        const fromEnvironment = rejection({ ...others, [env]: text });
        assert.ok(fromEnvironment.startsWith(`${env}: expected ${expected}`), fromEnvironment);
        const fromFlag = rejection(others, { [name]: text });
        assert.ok(fromFlag.startsWith(`${flag}: expected ${expected}`), fromFlag);
      }
    });
  }

  test('a flag wins over its variable, also over a variable with a bad value', () => {
    assert.equal(loadSettings({ ROLLCALL_PORT: '1' }, { port: '2' }).port, 2);
    assert.equal(loadSettings({ ROLLCALL_PORT: 'x' }, { port: '2' }).port, 2);
  });

  test('an empty variable counts as absent, an empty flag is a bad value', () => {
    const empty = Object.fromEntries(SETTING_NAMES.map((name) => [SETTINGS[name].env, '']));
    assert.deepEqual(loadSettings(empty), loadSettings({}));
    assert.match(rejection({}, { dataDir: '' }), /^--data-dir: expected a directory/);
  });

  test('all bad settings are named in one line', () => {
    const line = rejection({ ROLLCALL_PORT: 'x', ROLLCALL_LOG_LEVEL: 'loud' }, { presenceTtlSeconds: '0' });
    assert.match(line, /ROLLCALL_PORT.*; --presence-ttl-seconds.*; ROLLCALL_LOG_LEVEL/);
  });

  test('a bootstrap ID without its secret, or a secret without its ID, is rejected', () => {
    assert.match(
      rejection({ ROLLCALL_PROJECT_ID: 'p' }),
      /ROLLCALL_PROJECT_ID and ROLLCALL_PROJECT_SECRET go together/,
    );
    assert.match(
      rejection({ ROLLCALL_CUSTOMER_SECRET: SECRET }),
      /ROLLCALL_CUSTOMER_ID and ROLLCALL_CUSTOMER_SECRET/,
    );
  });

  test('the error about a setting repeats no secret', () => {
    const hidden = 'hunter2';
    const line = rejection({
      ROLLCALL_PROJECT_SECRET: hidden,
      ROLLCALL_CUSTOMER_SECRET: hidden,
      ROLLCALL_DATABASE_URL: `mysql://root:${hidden}@db`,
      ROLLCALL_REDIS_URL: hidden,
    });
    assert.ok(!line.includes(hidden), line);
  });
});

describe('ROLLCALL_ variables that are not settings', () => {
  const lines = (...names: string[]) =>
    unknownVariables(Object.fromEntries(names.map((name) => [name, 'x'])));

  test('an unknown variable is reported with the setting of the nearest name', () => {
    assert.deepEqual(lines('ROLLCALL_PROT', 'ROLLCALL_DATADIR'), [
      'ROLLCALL_DATADIR is not a setting: did you mean ROLLCALL_DATA_DIR?',
      'ROLLCALL_PROT is not a setting: did you mean ROLLCALL_PORT?',
    ]);
  });

  test('an unknown variable is reported without a setting where no name is near', () => {
    assert.deepEqual(lines('ROLLCALL_FAVOURITE_COLOUR'), ['ROLLCALL_FAVOURITE_COLOUR is not a setting']);
  });

  test('variables of other programs, of the test suites, and of settings are not reported', () => {
    assert.deepEqual(
      lines('PATH', 'ROLL', 'ROLLCALL_TOKEN', 'ROLLCALL_URL', 'ROLLCALL_TEST_DATABASE_URL', 'ROLLCALL_PORT'),
      [],
    );
  });
});
