import { type ObjectSchema, parseJsonExactly, type ValidationErrors, validator } from '@rollcall/protocol';
import type { RawQuery } from './query-string.ts';

type Schema = { readonly type?: unknown; readonly description?: unknown };
type Schemas = Readonly<Record<string, Schema>>;
type Values = Record<string, unknown>;

/** Reads a query by its schema: texts become values, and invalid ones are added to `errors`. */
type QueryReader = (query: RawQuery, errors: ValidationErrors) => Values;

/** A pair of an object: `location[page]=intro`. Keys with brackets are sent as JSON, since `a[b][c]` is ambiguous. */
const PAIR = /^([^[\]]+)\[([^[\]]+)\]$/;

/** An object in two forms at once, or with a pair that is repeated or nested. No object schema takes it. */
const MALFORMED_OBJECT = '';

export function queryReader(schema: ObjectSchema): QueryReader {
  const properties = schema.properties as Schemas;
  const validate = validator({ ...schema, properties: withBothForms(properties) });
  const hasObjects = Object.values(properties).some(isObject);
  return (query, errors) => {
    // Without a prototype: `__proto__` is a parameter like any other, and none that we know.
    const values: Values = Object.create(null);
    for (const name in query) {
      if (hasObjects && name.includes('[') && readPair(properties, query, name, values)) continue;
      // Pairs of it came before.
      if (values[name] !== undefined) continue;
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

const isObject = ({ type }: Schema) => type === 'object';

/** The messages about an object name its two forms. */
const withBothForms = (properties: Schemas): Schemas =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const forms = `as JSON or as pairs such as ${name}[key]=value, each key once`;
      return [
        name,
        isObject(schema) ? { ...schema, description: `${schema.description}, ${forms}` } : schema,
      ];
    }),
  );

/** Adds the pair to its object. Returns false where the parameter is none of an object of the schema. */
function readPair(properties: Schemas, query: RawQuery, parameter: string, values: Values): boolean {
  const name = parameter.slice(0, parameter.indexOf('['));
  if (!Object.hasOwn(properties, name) || !isObject(properties[name] as Schema)) return false;
  const [, , key] = PAIR.exec(parameter) ?? [];
  const value = query[parameter];
  const isMalformed = key === undefined || typeof value !== 'string' || query[name] !== undefined;
  if (isMalformed || values[name] === MALFORMED_OBJECT) {
    values[name] = MALFORMED_OBJECT;
    return true;
  }
  // Without a prototype, as above.
  values[name] ??= Object.create(null);
  (values[name] as Values)[key] = value;
  return true;
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
