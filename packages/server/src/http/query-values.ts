import { type ObjectSchema, parseJsonExactly, type ValidationErrors, validator } from '@rollcall/protocol';
import type { RawQuery } from './query-string.ts';

type Schema = { readonly type?: unknown };

/** Reads a query by its schema: texts become values, and invalid ones are added to `errors`. */
export type QueryReader = (query: RawQuery, errors: ValidationErrors) => Record<string, unknown>;

export function queryReader(schema: ObjectSchema): QueryReader {
  const validate = validator(schema);
  const properties = schema.properties as Record<string, Schema>;
  return (query, errors) => {
    // Without a prototype: `__proto__` is a parameter like any other, and none that we know.
    const values: Record<string, unknown> = Object.create(null);
    for (const name in query) {
      const text = query[name] as string | string[];
      // A repeated parameter stays a list, which few schemas take.
      values[name] =
        typeof text === 'string'
          ? typedValue(Object.hasOwn(properties, name) ? properties[name]?.type : undefined, text)
          : text;
    }
    validate(values, errors);
    return values;
  };
}

/** A text that is not of the type stays a text, which the validation rejects. */
function typedValue(type: unknown, text: string): unknown {
  switch (type) {
    case 'integer':
      return /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'array':
      return [text];
    case 'object':
      return jsonOrText(text);
    default:
      return text;
  }
}

function jsonOrText(text: string): unknown {
  try {
    return parseJsonExactly(text);
  } catch {
    return text;
  }
}
