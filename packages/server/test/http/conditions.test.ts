import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isFresh, precondition } from '../../src/http/conditions.ts';

suite('If-Match and If-None-Match', () => {
  test('a request without If-Match and If-None-Match has no precondition', () => {
    assert.deepEqual(precondition({}), {});
  });

  test('If-Match with a star matches any revision, and a list matches the revisions in it', () => {
    assert.deepEqual(precondition({ 'if-match': ' * ' }), { ifMatch: '*' });
    assert.deepEqual(precondition({ 'if-match': '"a", "b"' }), { ifMatch: ['a', 'b'] });
    assert.deepEqual(precondition({ 'if-none-match': '*' }), { ifNoneMatch: '*' });
  });

  test('If-None-Match and If-Match with a star among others match any revision, as where a proxy repeats the header', () => {
    for (const star of ['*, *', '*,', '"a", *'])
      assert.deepEqual(precondition({ 'if-none-match': star, 'if-match': star }), {
        ifMatch: '*',
        ifNoneMatch: '*',
      });
    assert.deepEqual(precondition({ 'if-none-match': '"a,*,b"' }), { ifNoneMatch: ['a,*,b'] });
  });

  test('If-Match with a quoted star matches that revision alone, not any', () => {
    assert.deepEqual(precondition({ 'if-match': '"*"' }), { ifMatch: ['*'] });
  });

  test('If-Match compares strongly: a weak ETag matches no revision', () => {
    assert.deepEqual(precondition({ 'if-match': 'W/"a"' }), { ifMatch: [] });
    assert.deepEqual(precondition({ 'if-none-match': 'W/"a"' }), { ifNoneMatch: ['a'] });
  });

  test('If-Match with a text that is no ETag matches no revision', () => {
    assert.deepEqual(precondition({ 'if-match': 'a' }), { ifMatch: [] });
    assert.deepEqual(precondition({ 'if-match': '' }), { ifMatch: [] });
    assert.deepEqual(precondition({ 'if-match': 'w/"a", x"b"' }), { ifMatch: [] });
  });

  test('If-None-Match with the ETag of the revision, strong or weak, is a match', () => {
    assert.ok(isFresh({ 'if-none-match': '"x", W/"r"' }, 'r'));
    assert.ok(isFresh({ 'if-none-match': '*' }, 'r'));
    assert.ok(!isFresh({ 'if-none-match': '"x"' }, 'r'));
    assert.ok(!isFresh({}, 'r'));
  });
});
