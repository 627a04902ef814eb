/**
 * The text as a string of its own. What is cut out of a request or put together from pieces is, inside the engine, a
 * reference to those: kept as it came, a short ID would keep the whole of them.
 */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

/** The same of everything that a value holds. */
export function ownCopy<Value extends object>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}
