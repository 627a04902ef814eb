import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isFresh, precondition } from '../../src/http/conditions.ts';

suite('If-Match and If-None-Match', () => {
  test('none: nothing is required', () => {
    assert.deepEqual(precondition({}), {});
  });

  test('a star is any state, a list is its revisions', () => {
    assert.deepEqual(precondition({ 'if-match': ' * ' }), { ifMatch: '*' });
    assert.deepEqual(precondition({ 'if-match': '"a", "b"' }), { ifMatch: ['a', 'b'] });
    assert.deepEqual(precondition({ 'if-none-match': '*' }), { ifNoneMatch: '*' });
  });

  test('a quoted star is a revision and not any state', () => {
    assert.deepEqual(precondition({ 'if-match': '"*"' }), { ifMatch: ['*'] });
  });

  test('If-Match compares strongly: a weak tag matches nothing', () => {
    assert.deepEqual(precondition({ 'if-match': 'W/"a"' }), { ifMatch: [] });
    assert.deepEqual(precondition({ 'if-none-match': 'W/"a"' }), { ifNoneMatch: ['a'] });
  });

  test('what is no tag matches nothing', () => {
    assert.deepEqual(precondition({ 'if-match': 'a' }), { ifMatch: [] });
    assert.deepEqual(precondition({ 'if-match': '' }), { ifMatch: [] });
  });

  test('a reader with the ETag of the revision, strong or weak, is fresh', () => {
    assert.ok(isFresh({ 'if-none-match': '"x", W/"r"' }, 'r'));
    assert.ok(isFresh({ 'if-none-match': '*' }, 'r'));
    assert.ok(!isFresh({ 'if-none-match': '"x"' }, 'r'));
    assert.ok(!isFresh({}, 'r'));
  });
});
