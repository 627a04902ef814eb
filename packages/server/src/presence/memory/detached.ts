/**
 * A copy of the text that refers to no other string. In V8 a string that was cut out of a request's text refers to all of
 * it, so that a stored ID would retain the whole request.
 */
export function detachString(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

/** A copy of a JSON value whose strings are detached. */
export function detachedClone<Value extends object>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}
