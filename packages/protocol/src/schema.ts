/**
 * Builds plain JSON Schema objects from which TypeScript infers types: one source for validation, types and the API
 * description. It has the kinds of schemas that the protocol uses (see ADR 9).
 */

/** The key of a schema's type; it does not exist at run time. */
declare const type: unique symbol;
/** Marks the schema of an optional property. A symbol key is not part of the JSON Schema. */
const optional = Symbol('optional');

/** A JSON Schema for values of type `T`. */
export interface Schema<T = unknown> {
  readonly [type]?: T;
  readonly [keyword: string]: unknown;
}

/** The type of the values of a schema. */
export type Static<S extends Schema> = S extends Schema<infer T> ? T : never;

/** A property that may be absent. */
export interface OptionalSchema<T = unknown> extends Schema<T> {
  readonly [optional]: true;
}

type Properties = Readonly<Record<string, Schema>>;

type OptionalKey<P extends Properties> = { [K in keyof P]: P[K] extends OptionalSchema ? K : never }[keyof P];
/** Merges an intersection into one object type. Conditional, so that the compiler shows the properties, not `Flat<…>`. */
export type Flat<T> = T extends infer Object ? { [K in keyof Object]: Object[K] } : never;
type ObjectOf<P extends Properties> = Flat<
  { [K in Exclude<keyof P, OptionalKey<P>>]: Static<P[K]> } & { [K in OptionalKey<P>]?: Static<P[K]> }
>;

/** The schema of an object with named properties. */
export interface ObjectSchema<P extends Properties = Properties> extends Schema<ObjectOf<P>> {
  readonly type: 'object';
  readonly properties: P;
  /** Absent where every property is optional. */
  readonly required?: readonly string[];
}

type Keywords = Readonly<Record<string, unknown>>;

export const text = (keywords: Keywords = {}): Schema<string> => ({ type: 'string', ...keywords });
export const flag = (keywords: Keywords = {}): Schema<boolean> => ({ type: 'boolean', ...keywords });
export const integer = (keywords: Keywords = {}): Schema<number> => ({ type: 'integer', ...keywords });

/** Any finite number. */
export const number = (keywords: Keywords = {}): Schema<number> => ({ type: 'number', ...keywords });

export const constant = <const T extends string | boolean>(value: T, keywords: Keywords = {}): Schema<T> => ({
  type: typeof value,
  const: value,
  ...keywords,
});

export const oneOf = <const T extends string>(values: readonly T[], keywords: Keywords = {}): Schema<T> => ({
  type: 'string',
  enum: values,
  ...keywords,
});

/** A string or null. */
export const textOrNull = (keywords: Keywords = {}): Schema<string | null> => ({
  type: ['string', 'null'],
  ...keywords,
});

export const list = <S extends Schema>(items: S, keywords: Keywords = {}): Schema<Static<S>[]> => ({
  type: 'array',
  items,
  ...keywords,
});

/** An object whose keys the caller chooses. */
export const dictionary = <T>(keywords: Keywords): Schema<Record<string, T>> => ({
  type: 'object',
  ...keywords,
});

/** The same schema, for a property that may be absent. */
export const maybe = <T>(schema: Schema<T>): OptionalSchema<T> => ({ ...schema, [optional]: true });

/** An object with these properties, and no others when `keywords` have `additionalProperties: false`. */
export function object<const P extends Properties>(properties: P, keywords: Keywords = {}): ObjectSchema<P> {
  const required = Object.keys(properties).filter((name) => !(optional in (properties[name] as Schema)));
  return { type: 'object', properties, ...(required.length > 0 && { required }), ...keywords };
}

/** An object without further properties. */
export const exactly = <const P extends Properties>(
  properties: P,
  keywords: Keywords = {},
): ObjectSchema<P> => object(properties, { additionalProperties: false, ...keywords });

/** The same schema with the API description of its use here; `keywords` such as its example. */
export const meaning = <S extends Schema>(schema: S, text: string, keywords: Keywords = {}): S => ({
  ...schema,
  'x-meaning': text,
  ...keywords,
});
