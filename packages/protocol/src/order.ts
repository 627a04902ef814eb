/**
 * Compares two strings by Unicode code point: the order of every list of the API, and of UTF-8 bytes, so that all
 * engines agree. (`<` compares UTF-16 units, which puts characters beyond U+FFFF before U+E000 to U+FFFF.)
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) {
      const leftIsSurrogate = (left & 0xf800) === 0xd800;
      const rightIsSurrogate = (right & 0xf800) === 0xd800;
      return leftIsSurrogate === rightIsSurrogate ? left - right : leftIsSurrogate ? 1 : -1;
    }
  }
  return a.length - b.length;
}
