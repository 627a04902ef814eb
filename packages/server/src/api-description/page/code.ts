import { type Html, html } from './html.ts';

/** The number of characters on a line of the narrowest column. */
const LINE_LENGTH = 56;

/** A JSON value as a person would write it: on one line where that is short, else a line for each thing in it. */
export function jsonText(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const key = (name: string) => (isList ? '' : `${JSON.stringify(name)}: `);
  const entries = Object.entries(value);
  const short = entries.map(([name, part]) => key(name) + jsonText(part, inner)).join(', ');
  const [open, close] = isList ? '[]' : '{}';
  if (!short.includes('\n') && indent.length + short.length < LINE_LENGTH) return `${open}${short}${close}`;
  const lines = entries.map(([name, part]) => `${inner}${key(name)}${jsonText(part, inner)}`);
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

export const codeBlock = (title: string | Html, code: string | Html) =>
  html`<figure class="code"><figcaption>${title}</figcaption><pre><code>${code}</code></pre></figure>`;
