import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { PageTokens } from '../../src/core/page-token.ts';

const KEY = Buffer.alloc(64, 7);
const tokens = new PageTokens(KEY);
const part = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 20 })
  .filter((text) => !text.includes('\0'));
const list = fc.array(part, { minLength: 1, maxLength: 3 });

suite('page tokens', () => {
  test('a page token returns its ID for its own list, on every process with the key', () => {
    const property = fc.property(list, part, (name, id) => {
      assert.equal(new PageTokens(KEY).read(name, tokens.issue(name, id)), id.toWellFormed());
    });
    fc.assert(property);
  });

  test('a page token of one list is rejected by every other list', () => {
    const property = fc.property(list, list, part, (name, other, id) => {
      fc.pre(name.join('\0') !== other.join('\0'));
      assert.equal(tokens.read(other, tokens.issue(name, id)), null);
    });
    fc.assert(property);
  });

  test('a page token with any character changed is rejected', () => {
    const token = tokens.issue([1, 'groups'], 'some group');
    for (let at = 0; at < token.length; at += 1) {
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
      assert.equal(tokens.read([1, 'groups'], changed), null, `position ${at}`);
    }
  });

  test('a page token that was never issued is rejected', () => {
    const issued = tokens.issue(['groups'], 'g');
    for (const text of ['', 'x', `${issued}=`, ` ${issued}`, `${issued}!`, 'A'.repeat(100_000)]) {
      assert.equal(tokens.read(['groups'], text), null);
    }
    assert.equal(new PageTokens(randomBytes(64)).read(['groups'], issued), null);
  });
});
