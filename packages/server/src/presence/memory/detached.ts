/**
 * A copy of a JSON value whose strings refer to no other string. In V8 a string that was cut out of a request's text refers to all
 * of it, so that a stored ID would retain the whole request.
 */
export function detached<Value extends string | object>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}
