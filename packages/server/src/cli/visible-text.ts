/** Control characters, line breaks, and those that change the direction of a text. */
const INVISIBLE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text for a terminal, in one line: what comes from files and servers must not clear the screen, or look like other lines. */
export const visibleText = (text: string): string =>
  text.replaceAll(
    INVISIBLE,
    (found) => NAMED[found] ?? `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
