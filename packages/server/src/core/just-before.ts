/**
 * A text that every ID before this one is up to, for reading a list from exactly this ID on: no ID lies between, because
 * it would have the last of all code points, which is of no character.
 */
export function justBefore(id: string): string {
  const [last = ''] = [...id].slice(-1);
  const before = String.fromCodePoint((last.codePointAt(0) as number) - 1);
  return `${id.slice(0, -last.length)}${before}\u{10ffff}`;
}
