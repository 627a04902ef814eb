/** Markup that is safe to put into a page: written by us, or escaped. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Part[] | null | undefined | false;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] as string);

/** Escapes everything between the pieces but other markup; null, undefined and false are nothing. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(pieces.reduce((before, piece, index) => before + markup(parts[index - 1]) + piece));
}

function markup(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(markup).join('');
  return escaped(String(part));
}
