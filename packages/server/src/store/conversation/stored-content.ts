import { type ContentNode, markdownOf, usersNamedIn } from '@rollcall/protocol';
import type { StoredContent } from '../ports/messages.ts';

/** The content as the store takes it: the text of one markdown node stands last, so that more can be appended. */
export function storedContent(content: readonly ContentNode[]): StoredContent {
  const userIds = [...usersNamedIn(content)];
  const markdown = markdownOf(content);
  if (markdown === null) return { json: JSON.stringify(content), markdownLength: null, userIds };
  const { text, ...format } = markdown;
  const json = JSON.stringify([{ type: 'markdown', children: [{ ...format, text }] }]);
  return { json, markdownLength: codePoints(text), userIds };
}

/** The number of code points of a well-formed text. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length; index += 1) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00) count -= 1;
  }
  return count;
}
