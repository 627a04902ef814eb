import type { OpenApiDocument } from '../build-document.ts';
import type { Schema } from '../openapi-document.ts';
import { type Html, html } from './html.ts';
import { inlineMarkdown } from './markdown.ts';
import { nameOf, resolve } from './references.ts';
import { boundsOf } from './schema-bounds.ts';

/** A named value: a field of a body, a parameter or a header. */
export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly description: string;
  /** `required` in what is sent, `may be absent` in what is answered; else null. */
  readonly presence: string | null;
}

/** The fields of an object, those of objects inside it under dotted names. */
export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  const { properties = {}, required = [], additionalProperties } = schema;
  // Requests take no other fields; later versions may add fields to answers.
  const isSent = additionalProperties === false;
  return Object.entries(properties).flatMap(([name, field]) => {
    const full = prefix + name;
    const description = field.description ?? '';
    const own = {
      name: full,
      schema: field,
      description,
      presence: presenceOf(isSent, required.includes(name)),
    };
    const nested =
      field.items === undefined ? fieldsOf(field, `${full}.`) : fieldsOf(field.items, `${full}[].`);
    return [own, ...nested];
  });
}

function presenceOf(isSent: boolean, isRequired: boolean): string | null {
  if (isSent) return isRequired ? 'required' : null;
  return isRequired ? null : 'may be absent';
}

/** What a list of fields belongs to: the prefix of their IDs in the page, and a word for the results of a search. */
export interface FieldScope {
  readonly id: string;
  readonly of: string;
}

export function fieldList(document: OpenApiDocument, fields: readonly Field[], { id, of }: FieldScope): Html {
  return html`<dl class="fields">${fields.map(
    ({ name, schema, description, presence }) => html`
<div id="${id}.${name.replaceAll('[]', '')}" data-of="${of}"><dt><code>${name}</code> <span class="type">${typeText(document, schema)}</span>${presence !== null && html` <em>${presence}</em>`}</dt>
<dd>${inlineMarkdown(description)}</dd></div>`,
  )}</dl>`;
}

/** The values that a field can have, in words. */
export function typeText(document: OpenApiDocument, schema: Schema): Html {
  const bounds = boundsOf(schema);
  return html`${kindOf(document, schema)}${bounds.length > 0 && `, ${bounds.join(', ')}`}`;
}

function kindOf(document: OpenApiDocument, schema: Schema): Html {
  const { $ref, type, items, const: only, enum: values, properties } = schema;
  if ($ref !== undefined) return componentText(document, $ref);
  if (only !== undefined) return html`<code>${JSON.stringify(only)}</code>`;
  if (values !== undefined && values.length < 5)
    return html`${values.map((value) => `"${value}"`).join(' or ')}`;
  if (items !== undefined) return html`array of ${kindOf(document, items)}`;
  if (properties !== undefined) return html`object`;
  if (choicesOf(schema).length > 0) return html`one of several`;
  return html`${[type ?? 'any'].flat().join(' or ')}`;
}

/** The schemas of which a value matches one. Those of an object with fields of its own are rules about the fields. */
export const choicesOf = ({ anyOf, oneOf = [], properties }: Schema): readonly Schema[] =>
  properties === undefined ? (anyOf ?? (oneOf as readonly Schema[])) : [];

/** An object is shown by its name, and so is what can be one of several; any other value by its type. */
function componentText(document: OpenApiDocument, $ref: string): Html {
  const name = nameOf($ref);
  const component = resolve<Schema>(document, { $ref });
  const isNamed = component.properties !== undefined || choicesOf(component).length > 0;
  const text = isNamed ? name : typeText(document, component);
  return html`<a href="#schema-${name}" title="${name}">${text}</a>`;
}
