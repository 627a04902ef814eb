import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRedisUrl, RedisUrlError } from '../../src/redis/redis-url.ts';

/** The options of a URL without parameters. */
const PLAIN = {
  hosts: [{ host: 'h', port: 6379 }],
  username: undefined,
  password: undefined,
  db: 0,
  tls: undefined,
  sentinel: null,
  sentinelUsername: undefined,
  sentinelPassword: undefined,
  prefix: 'rollcall',
  connectTimeoutMs: 1_500,
  timeoutMs: 2_500,
};

const READ: readonly [url: string, differs: object][] = [
  ['redis://h', {}],
  ['redis://h/', {}],
  ['redis://h:1/3', { hosts: [{ host: 'h', port: 1 }], db: 3 }],
  ['rediss://h', { tls: {} }],
  ['redis://:se%40cret@h', { password: 'se@cret' }],
  ['redis://me:a:b@h', { username: 'me', password: 'a:b' }],
  ['redis://[::1]:7000', { hosts: [{ host: '::1', port: 7000 }] }],
  [
    'redis://a:1,b?sentinel=main&sentinel_password=x',
    {
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
      ],
      sentinel: 'main',
      sentinelPassword: 'x',
    },
  ],
  [
    'redis://h?prefix=my.app&timeout_ms=100&connect_timeout_ms=50',
    { prefix: 'my.app', timeoutMs: 100, connectTimeoutMs: 50 },
  ],
];

const REJECTED = [
  '',
  'h',
  'http://h',
  'redis://',
  'redis://h:port',
  'redis://h:0',
  'redis://h:70000',
  'redis://a,',
  'redis://h/x',
  'redis://h/-1',
  'redis://%zz@h',
  'redis://h?prefix=',
  'redis://h?prefix={a}',
  'redis://h?prefix=a&prefix=b',
  'redis://h?timeout_ms=0',
  'redis://h?timeout_ms=1.5',
  'redis://h?timeout=1',
  'rediss://h?ca=/nowhere/ca.pem',
];

describe('the URL of a Redis', () => {
  for (const [url, differs] of READ) {
    test(`the Redis URL ${url} is accepted`, () =>
      assert.deepEqual(parseRedisUrl(url), { ...PLAIN, ...differs }));
  }

  for (const url of REJECTED) {
    test(`the Redis URL "${url}" is rejected in one line`, () =>
      assert.throws(
        () => parseRedisUrl(url),
        (error) => error instanceof RedisUrlError && !error.message.includes('\n'),
      ));
  }

  test('a Redis URL whose password is not percent-encoded is rejected with a message that has the escapes', () => {
    for (const url of [
      'redis://:se#cret@h',
      'redis://:se/cret@h',
      'redis://:se?cret@h',
      'redis://:se@cret@h',
      'rediss://me:se@cr/et@h/3?prefix=a',
      'redis://:se%cret@h',
    ]) {
      assert.throws(
        () => parseRedisUrl(url),
        /write %40 for @, %2F for \/, %3F for \?, %23 for # and %25 for %$/,
      );
    }
  });

  test('a password of a Redis URL is never in the message', () => {
    for (const url of ['redis://:secret@h:port', 'redis://:secret@h/x', 'redis://:secret@h?nick=secret']) {
      assert.throws(
        () => parseRedisUrl(url),
        (error: Error) => !error.message.includes('secret'),
      );
    }
  });
});
