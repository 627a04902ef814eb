/** A value of a field as a text: the same for values that count as the same, such as objects with their keys in another order. */
export function comparable(name: string, value: unknown): string {
  if (name.endsWith('Timestamp')) return String(Date.parse(String(value)));
  return value === '' ? 'null' : String(JSON.stringify(value, withSortedKeys));
}

const withSortedKeys = (_: string, value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
