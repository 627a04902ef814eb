/**
 * The position directly before an ID: a list that is read after it begins with this ID. No other ID sorts between the two,
 * because such an ID would contain U+10FFFF, which is not a character.
 */
export function justBefore(id: string): string {
  const [last = ''] = [...id].slice(-1);
  const before = String.fromCodePoint((last.codePointAt(0) as number) - 1);
  return `${id.slice(0, -last.length)}${before}\u{10ffff}`;
}
