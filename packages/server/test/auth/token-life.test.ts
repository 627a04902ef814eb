import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenLife } from '../../src/auth/token-life.ts';

const NOW = 1_800_000_000;
const DAY = 86_400;

/** Claims (seconds relative to now), then the state at now. */
const CASES: [what: string, claims: Record<string, number>, state: string][] = [
  ['was issued now', { iat: 0 }, 'current'],
  ['was issued a day ago', { iat: -DAY }, 'current'],
  ['was issued a day and the tolerance ago', { iat: -DAY - 30 }, 'current'],
  ['was issued a moment longer ago', { iat: -DAY - 30.001 }, 'ended'],
  ['was issued a day and 31 s ago', { iat: -DAY - 31 }, 'ended'],
  ['was issued 30 s in the future', { iat: 30 }, 'current'],
  ['was issued 31 s in the future', { iat: 31 }, 'unfit'],
  ['was issued an hour in the future', { iat: 3_600 }, 'unfit'],
  ['expires now', { exp: 0 }, 'current'],
  ['expired 29 s ago', { exp: -29 }, 'current'],
  ['expired 30 s ago', { exp: -30 }, 'ended'],
  ['expires in a day', { exp: DAY }, 'current'],
  ['expires in a day and the tolerance', { exp: DAY + 30 }, 'current'],
  ['expires in a day and 31 s, and has no iat', { exp: DAY + 31 }, 'unfit'],
  ['expires in a week and was issued now', { iat: 0, exp: 7 * DAY }, 'current'],
  ['expires in a week and was issued a day and 31 s ago', { iat: -DAY - 31, exp: 7 * DAY }, 'ended'],
  ['was issued now and expired 31 s ago', { iat: 0, exp: -31 }, 'ended'],
  ['was issued 31 s in the future and expired 31 s ago', { iat: 31, exp: -31 }, 'unfit'],
  ['is valid from now on', { iat: 0, nbf: 0 }, 'current'],
  ['is valid from 30 s in the future', { iat: 0, nbf: 30 }, 'current'],
  ['is valid from 31 s in the future', { iat: 0, nbf: 31 }, 'unfit'],
  ['has nbf and no other time', { nbf: 0 }, 'unfit'],
  ['has no time at all', {}, 'unfit'],
  ['has times with fractions of a second', { iat: -0.5, exp: 0.5 }, 'current'],
];

for (const [what, relative, state] of CASES) {
  test(`the life of a token that ${what} is ${state}`, () => {
    const claims = Object.fromEntries(
      Object.entries(relative).map(([name, seconds]) => [name, NOW + seconds]),
    );
    assert.equal(tokenLife(claims, NOW * 1_000).state, state);
  });
}

test('a token with exp or iat that is not a finite number is invalid, also beside a valid time', () => {
  for (const value of ['1800000000', null, true, [NOW], {}, Number.POSITIVE_INFINITY, Number.NaN]) {
    for (const name of ['iat', 'exp', 'nbf']) {
      assert.equal(
        tokenLife({ iat: NOW, exp: NOW + 60, [name]: value }, NOW * 1_000).state,
        'unfit',
        `${name} ${value}`,
      );
    }
  }
});

test('exp and iat too large for milliseconds are compared like any other time', () => {
  assert.equal(tokenLife({ iat: 1e308 }, NOW * 1_000).state, 'unfit');
  assert.equal(tokenLife({ exp: 1e308 }, NOW * 1_000).state, 'unfit');
  assert.equal(tokenLife({ iat: -1e308 }, NOW * 1_000).state, 'ended');
  assert.equal(tokenLife({ iat: NOW, exp: 1e308 }, NOW * 1_000).state, 'current');
});

test('a token is expired from the first millisecond at or after its exp', () => {
  for (const claims of [
    { iat: NOW - 100 },
    { exp: NOW + 100 },
    { iat: NOW, exp: NOW + 50 },
    { iat: NOW - 5, exp: NOW + 9 * DAY },
  ]) {
    const life = tokenLife(claims, NOW * 1_000);
    assert.equal(life.state, 'current');
    const { endsAt } = life as { endsAt: number };
    assert.equal(tokenLife(claims, endsAt - 1).state, 'current');
    assert.equal(tokenLife(claims, endsAt).state, 'ended');
  }
});
