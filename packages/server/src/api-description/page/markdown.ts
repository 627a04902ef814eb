/** The description's prose as markup. The texts are our own, so what markdown takes as markup is let through. */
import { Marked, type Tokens } from 'marked';
import { Html } from './html.ts';

/** The fragment by which a heading is linked to. */
export const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // On a phone each cell is a line with its label, so the roles of a table are named where the style takes them away.
    table({ header, rows }) {
      const cells = (row: Tokens.TableCell[], name: 'td' | 'th', role: string) =>
        row.map(({ tokens }, index) => {
          const label = name === 'td' ? ` data-label="${header[index]?.text ?? ''}"` : '';
          return `<${name} role="${role}"${label}>${this.parser.parseInline(tokens)}</${name}>`;
        });
      const line = (texts: string[]) => `<tr role="row">${texts.join('')}</tr>`;
      const head = line(cells(header, 'th', 'columnheader'));
      const body = rows.map((row) => line(cells(row, 'td', 'cell'))).join('\n');
      return `<table role="table"><thead role="rowgroup">${head}</thead><tbody role="rowgroup">${body}</tbody></table>\n`;
    },
  },
});

export const markdown = (text: string) => new Html(marked.parse(text, { async: false }));

/** Without a paragraph around it. */
export const inlineMarkdown = (text: string) => new Html(marked.parseInline(text, { async: false }));

/** The second-level headings of a text, in order. */
export const headingsOf = (text: string) =>
  [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
