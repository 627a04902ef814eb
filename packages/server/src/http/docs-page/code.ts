import { type Html, html } from './html.ts';

/** A key with its colon, a string, a word, or a number. */
const JSON_TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?/g;

const kindOf = (token: string, colon: string | undefined) =>
  colon !== undefined ? 'key' : token.startsWith('"') ? 'string' : 'literal';

/** A JSON value, indented where it is long, with its tokens told apart. */
export function jsonMarkup(value: unknown): Html {
  const text = JSON.stringify(value, null, 2);
  const parts: Html[] = [];
  let end = 0;
  for (const { 0: all, 1: token = all, 2: colon, index } of text.matchAll(JSON_TOKEN)) {
    parts.push(
      html`${text.slice(end, index)}<span class="${kindOf(token, colon)}">${token}</span>${colon ?? ''}`,
    );
    end = index + all.length;
  }
  return html`${parts}${text.slice(end)}`;
}

/** A block of code under a title. */
export const codeBlock = (title: string | Html, code: string | Html) =>
  html`<figure class="code"><figcaption>${title}</figcaption><pre tabindex="0"><code>${code}</code></pre></figure>`;
