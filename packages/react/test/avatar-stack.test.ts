import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { AvatarStack } from '../src/avatar-stack.ts';

/** What a face shows of a user without a picture. */
function faceOf(name: string): string | undefined {
  const people = [{ id: 'ada', name, pictureURL: null }];
  const [, text] =
    />([^<]+)<\/span>/.exec(renderToStaticMarkup(createElement(AvatarStack, { people }))) ?? [];
  return text;
}

test('the initials of a face are whole letters: with their marks, and emoji that are joined of several', () => {
  assert.equal(faceOf('Ada Maria Okafor'), 'AO');
  assert.equal(faceOf('e\u0301mile zola'), 'E\u0301Z');
  assert.equal(faceOf('निशा'), 'नि');
  assert.equal(faceOf('🇩🇪 Max'), '🇩🇪M');
  assert.equal(faceOf('Dev 👩🏽‍💻'), 'D👩🏽‍💻');
  assert.equal(faceOf('❤️‍🔥'), '❤️‍🔥');
});
