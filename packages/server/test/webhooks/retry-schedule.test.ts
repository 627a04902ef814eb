import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeatAt } from '../../src/webhooks/retry-schedule.ts';

const NOW = Date.UTC(2026, 10, 6, 8, 49, 37);

/** The pause after a first failure is of so many seconds, and at most a tenth longer. */
function assertPause(retryAfter: string | null, seconds: number): void {
  const pause = (repeatAt(NOW, 1, retryAfter) - NOW) / 1_000;
  assert.ok(pause >= seconds && pause <= seconds * 1.1 + 0.001, `${retryAfter}: ${pause} s, not ${seconds}`);
}

test('a Retry-After that is neither a number of seconds nor a date of HTTP is ignored', () => {
  for (const text of [null, '', '-5', '1.5', '+3', '1e3', 'soon', 'soon 1', '2026-11-06T08:59:37Z', '5 s'])
    assertPause(text, 5);
});

test('Retry-After is honoured in each form of HTTP, from 1 second up to 1 h', () => {
  assertPause('0', 1);
  assertPause('7', 7);
  assertPause(' 60 ', 60);
  assertPause('9'.repeat(20), 3_600);
  for (const date of [
    'Fri, 06 Nov 2026 08:50:37 GMT',
    'Friday, 06-Nov-26 08:50:37 GMT',
    'Fri Nov  6 08:50:37 2026',
  ])
    assertPause(date, 60);
  assertPause('Fri, 06 Nov 2026 18:00:00 GMT', 3_600);
  assertPause('Fri, 06 Nov 2020 18:00:00 GMT', 1);
});
