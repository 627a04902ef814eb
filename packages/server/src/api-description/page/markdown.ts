/** The description's prose as markup. The texts are our own, so what markdown takes as markup is let through. */
import { Marked } from 'marked';
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
  },
});

export const markdown = (text: string) => new Html(marked.parse(text, { async: false }));

/** Without a paragraph around it. */
export const inlineMarkdown = (text: string) => new Html(marked.parseInline(text, { async: false }));

/** The second-level headings of a text, in order. */
export const headingsOf = (text: string) =>
  [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
