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

test('the text for people who are not shown has ten names, and the number of the others', () => {
  const labelOf = (count: number) => {
    const people = Array.from({ length: count }, (_, at) => ({ id: `p${at}`, name: null, pictureURL: null }));
    const html = renderToStaticMarkup(createElement(AvatarStack, { people }));
    return /.*aria-label="([^"]+)"/.exec(html)?.[1];
  };
  const ten = 'p5, p6, p7, p8, p9, p10, p11, p12, p13, p14';
  assert.equal(labelOf(15), `and ${ten}`);
  assert.equal(labelOf(2_000), `and ${ten}, and 1985 more`);
});
