/**
 * Turns the schemas that check requests into those of the description: the same, with references to named
 * schemas, with the meaning of every field, and without keywords that JSON Schema does not have. A pattern that regular
 * expressions of other languages may not take is replaced by its `x-portable-pattern`, which takes a little more.
 */
import * as protocol from '@rollcall/protocol';
import { Failure } from '../http/schemas.ts';
import type { Schema } from './openapi-document.ts';

/** Schemas are distinguished by their text, apart from what they mean where they are used. */
const textOf = ({ 'x-meaning': _meaning, ...schema }: Schema) => JSON.stringify(schema);

const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...Object.fromEntries(Object.entries(protocol as Readonly<Record<string, unknown>>).filter(isNamed)),
  Error: Failure as Schema,
};

/** Lists and flags are shown where they are used. What is no schema has neither field. */
function isNamed(entry: [string, unknown]): entry is [string, Schema] {
  const { type, anyOf } = entry[1] as Schema;
  return anyOf !== undefined || (type !== undefined && type !== 'array' && type !== 'boolean');
}

const NAMES = new Map(Object.entries(SCHEMAS).map(([name, schema]) => [textOf(schema), name]));

export class SchemaComponents {
  readonly #components = new Map<string, Schema>();

  /** The schema as the description has it. */
  describe(schema: Schema): Schema {
    const name = schema['x-named'] ?? NAMES.get(textOf(schema));
    return typeof name === 'string' ? this.#refer(name) : this.#rewrite(schema);
  }

  /** Names a schema of the description alone, and refers to it. */
  define(name: string, build: () => Schema): Schema {
    if (!this.#components.has(name)) this.#components.set(name, build());
    return referenceTo(name);
  }

  /** All that was referred to, by name. */
  all(): Record<string, Schema> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #refer(name: string): Schema {
    if (!this.#components.has(name)) {
      // Its entry exists before its fields are read, which may refer to it.
      this.#components.set(name, {});
      this.#components.set(name, this.#component(name));
    }
    return referenceTo(name);
  }

  #component(name: string): Schema {
    const named = SCHEMAS[name] as Schema;
    const { description: expected, ...schema } = this.#rewrite(named);
    const parts = [named['x-meaning'], typeof expected === 'string' ? sentence(expected) : undefined];
    return { description: parts.filter((part) => part !== undefined).join(' '), ...schema, ...ruleOf(named) };
  }

  #rewrite(schema: Schema): Schema {
    const {
      'x-text': _text,
      'x-meaning': _meaning,
      'x-rule': _rule,
      'x-portable-pattern': portable,
      format,
      properties,
      items,
      anyOf,
      ...rest
    } = schema;
    return {
      ...rest,
      ...(portable !== undefined && { pattern: portable }),
      ...formatOf(format),
      ...(properties !== undefined && { properties: this.#fields(schema) }),
      ...(items !== undefined && { items: this.describe(items) }),
      ...(anyOf !== undefined && { anyOf: anyOf.map((choice) => this.describe(choice)) }),
    };
  }

  #fields(schema: Schema): Record<string, Schema> {
    const isWritten = schema.additionalProperties === false;
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, field]) => {
        const described = this.describe(field);
        const description = descriptionOf(described, field['x-meaning'], isWritten);
        return [name, { ...described, ...(description !== undefined && { description }) }];
      }),
    );
  }
}

const referenceTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** Rules that code checks, since they depend on several fields. */
const ruleOf = ({ 'x-rule': rule = {} }: Schema) => rule as Schema;

/** The meaning of a field; where it is written and its schema has bounds of its own, also the accepted values. */
function descriptionOf({ description, type }: Schema, meaning: unknown, isWritten: boolean) {
  if (typeof meaning !== 'string') return description === undefined ? undefined : sentence(description);
  const bounded = isWritten && description !== undefined && type !== 'boolean' && type !== 'array';
  return bounded ? `${meaning} Takes ${description}.` : meaning;
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** URLs as browsers take them (WHATWG), with characters that `uri` of RFC 3986 does not have. */
function formatOf(format: unknown): Schema {
  if (format === 'http-url') return { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' };
  if (format === 'link-url') return { pattern: '^([Hh][Tt][Tt][Pp][Ss]?://|[Mm][Aa][Ii][Ll][Tt][Oo]:)' };
  return { format };
}
