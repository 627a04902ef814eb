/**
 * Turns the schemas that check requests into those of the description: the same, with what has a name of its own
 * referred to, with every field's meaning, and without the keywords that are only ours.
 */
import * as protocol from '@rollcall/protocol';
import { Failure } from '../schemas.ts';
import { MEANINGS, type Meaning } from './field-meanings.ts';
import type { Schema } from './openapi-document.ts';

/** Schemas are told apart by their text: what is the same JSON Schema is the same component, wherever it was made. */
const textOf = (schema: object) => JSON.stringify(schema);

const PREFERENCES = (protocol.PreferenceList as Schema).items as Schema;

const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...Object.fromEntries(
    Object.entries(protocol).filter((entry): entry is [string, Schema] => isNamed(entry[1])),
  ),
  Error: Failure as Schema,
  Preferences: PREFERENCES,
};

/** Lists and flags are shown where they are used. */
function isNamed(exported: unknown): boolean {
  if (typeof exported !== 'object' || exported === null) return false;
  const { type } = exported as Schema;
  return type !== undefined && type !== 'array' && type !== 'boolean';
}

const NAMES = new Map(Object.entries(SCHEMAS).map(([name, schema]) => [textOf(schema), name]));

/** What a schema cannot say in the few keywords that are checked, because a rule beside it does. */
const RULES: Readonly<Record<string, Schema>> = {
  PresenceWrite: { oneOf: [{ required: ['groupID'] }, { required: ['organizationID'] }] },
  PresenceUpdate: { oneOf: [{ required: ['groupID'] }, { required: ['organizationID'] }] },
};

/** Collects the components that a document refers to. */
export class SchemaComponents {
  readonly #components = new Map<string, Schema>();

  /** The schema as the description has it. */
  describe(schema: object): Schema {
    const name = NAMES.get(textOf(schema));
    return name === undefined ? this.#rewrite(schema as Schema) : this.#refer(name);
  }

  /** All that was referred to, by name. */
  all(): Record<string, Schema> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #refer(name: string): Schema {
    if (!this.#components.has(name)) {
      // Its place is taken before its fields are read, which may refer to it.
      this.#components.set(name, {});
      this.#components.set(name, this.#component(name));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #component(name: string): Schema {
    const meaning = MEANINGS[name];
    const { description: expected, ...schema } = this.#rewrite(SCHEMAS[name] as Schema, meaning);
    const parts = [meaning?.about, typeof expected === 'string' ? sentence(expected) : undefined];
    return { description: parts.filter((part) => part !== undefined).join(' '), ...schema, ...RULES[name] };
  }

  #rewrite(schema: Schema, meaning?: Meaning, place = ''): Schema {
    const { 'x-text': _text, format, properties, items, anyOf, ...rest } = schema;
    return {
      ...rest,
      ...formatOf(format),
      ...(properties !== undefined && { properties: this.#fields(schema, meaning, place) }),
      ...(items !== undefined && { items: this.#inside(items, meaning, place) }),
      ...(anyOf !== undefined && { anyOf: anyOf.map((choice) => this.#inside(choice, meaning, place)) }),
    };
  }

  #fields(schema: Schema, meaning: Meaning | undefined, place: string): Record<string, Schema> {
    const written = schema.additionalProperties === false;
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, field]) => {
        const inner = place === '' ? name : `${place}.${name}`;
        const said = this.#inside(field, meaning, inner);
        const description = descriptionOf(said, meaning?.fields?.[inner], written);
        return [name, { ...said, ...(description !== undefined && { description }) }];
      }),
    );
  }

  #inside(schema: Schema, meaning: Meaning | undefined, place: string): Schema {
    const name = NAMES.get(textOf(schema));
    return name === undefined ? this.#rewrite(schema, meaning, place) : this.#refer(name);
  }
}

/** What a field means, and where it is written to and its schema has bounds of its own, what it takes. */
function descriptionOf({ description, type }: Schema, means: string | undefined, written: boolean) {
  if (means === undefined) return description === undefined ? undefined : sentence(description);
  const bounded = written && description !== undefined && type !== 'boolean' && type !== 'array';
  return bounded ? `${means} Takes ${description}.` : means;
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function formatOf(format: unknown): Schema {
  if (format === 'http-url') return { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' };
  return format === undefined ? {} : { format };
}
