import type { Schema } from '../openapi/openapi-document.ts';
import { type Html, html } from './html.ts';
import { inlineMarkdown } from './markdown.ts';
import { nameOf } from './references.ts';

/** A named value: a field of a body, or a parameter. */
export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly description: string;
  readonly required: boolean;
}

export const schemaLink = (name: string) => html`<a href="#schema-${name}">${name}</a>`;

/** The fields of an object, those of objects inside it under dotted names. */
export function fieldsOf({ properties = {}, required = [] }: Schema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const full = prefix + name;
    const own = {
      name: full,
      schema,
      description: schema.description ?? '',
      required: required.includes(name),
    };
    const inside = schema.items ?? schema;
    return [own, ...fieldsOf(inside, `${full}${inside === schema ? '' : '[]'}.`)];
  });
}

export function fieldList(fields: readonly Field[]): Html {
  return html`<dl class="fields">${fields.map(
    ({ name, schema, description, required }) => html`
<div><dt><code>${name}</code> <span class="type">${typeText(schema)}</span>${required && html` <em>required</em>`}</dt>
<dd>${inlineMarkdown(description)}</dd></div>`,
  )}</dl>`;
}

/** What a value can be, in words. */
export function typeText(schema: Schema): Html {
  const bounds = boundsOf(schema);
  return html`${kindOf(schema)}${bounds.length > 0 && `, ${bounds.join(', ')}`}`;
}

function kindOf({ $ref, type, items, const: only, enum: values, properties }: Schema): Html {
  if ($ref !== undefined) return schemaLink(nameOf($ref));
  if (only !== undefined) return html`<code>${JSON.stringify(only)}</code>`;
  if (values !== undefined && values.length < 5)
    return html`${values.map((value) => `"${value}"`).join(' or ')}`;
  if (items !== undefined) return html`array of ${kindOf(items)}`;
  if (properties !== undefined) return html`object`;
  return html`${[type ?? 'any'].flat().join(' or ')}`;
}

const number = (value: unknown) => Number(value).toLocaleString('en');

function boundsOf(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, maxItems, minProperties, maxProperties, format } = schema;
  return [
    format === undefined ? null : String(format),
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minProperties, maxProperties, ' keys'),
    range(undefined, maxItems, ''),
    schema.default === undefined
      ? null
      : `default ${typeof schema.default === 'number' ? number(schema.default) : String(schema.default)}`,
  ].filter((bound) => bound !== null);
}

function range(from: unknown, to: unknown, unit: string): string | null {
  if (from === undefined && to === undefined) return null;
  if (from === undefined) return `at most ${number(to)}${unit}`;
  if (to === undefined) return `at least ${number(from)}${unit}`;
  return `${number(from)} to ${number(to)}${unit}`;
}
