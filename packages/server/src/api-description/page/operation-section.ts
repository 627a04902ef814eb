import type { Example } from '../../http/operation.ts';
import type { OpenApiDocument } from '../build-document.ts';
import type { MediaType, Operation, Parameter, Response, Schema } from '../openapi-document.ts';
import { codeBlock, jsonText } from './code.ts';
import { curlExample } from './curl.ts';
import { type Field, type FieldScope, fieldList, fieldsOf, typeText } from './fields.ts';
import { type Html, html } from './html.ts';
import { inlineMarkdown, markdown } from './markdown.ts';
import { resolve } from './references.ts';

export interface DescribedOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

/** Method and path, with the parameters marked. A long path may break after a slash. */
export function endpoint({ method, path }: Pick<DescribedOperation, 'method' | 'path'>): Html {
  const segments = path.slice(1).split('/');
  const parts = segments.map(
    (segment) => html`/<wbr>${segment.startsWith('{') ? html`<var>${segment}</var>` : segment}`,
  );
  return html`<span class="method ${method}">${method.toUpperCase()}</span> <span class="path">${parts}</span>`;
}

/** All about one operation: what to send and what comes back on the left, examples on the right. */
export function operationSection(document: OpenApiDocument, described: DescribedOperation): Html {
  const { operationId, summary, description, security } = described.operation;
  return html`
<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
<div class="prose">
<h3 id="${operationId}-title"><a href="#${operationId}">${summary}</a></h3>
<p>${endpoint(described)}</p>
<p>${openedBy(security)}</p>
${markdown(description)}
${parametersOf(document, described.operation)}
${bodyOf(document, described.operation)}
${answersOf(document, described.operation)}
${errorsOf(document, described.operation)}
</div>
<div>${examplesOf(document, described)}</div>
</section>`;
}

function openedBy(security: Operation['security']): Html {
  const [scheme] = security.flatMap((requirement) => Object.keys(requirement));
  if (scheme === undefined) return html`Needs no token`;
  return html`Needs <a href="#authentication">a ${scheme.replace('Token', ' token')}</a>`;
}

/** Parameters that every operation takes are described once, before all of them. */
const EVERYWHERE = new Set(['x-request-id']);

function parametersOf(document: OpenApiDocument, { parameters, operationId }: Operation): Html {
  const known = parameters
    .map((parameter) => resolve<Parameter>(document, parameter))
    .filter(({ name }) => !EVERYWHERE.has(name));
  const listOf = (kind: Parameter['in'], title: string) => {
    const fields = known.filter((parameter) => parameter.in === kind).map(fieldOf);
    const scope = { id: `${operationId}.${kind}`, of: title };
    return fields.length > 0 && html`<h4>${title}</h4>${fieldList(document, fields, scope)}`;
  };
  return html`${listOf('path', 'Path')}${listOf('query', 'Query')}${listOf('header', 'Headers')}`;
}

function fieldOf({ name, schema, description, required = false }: Parameter): Field {
  const presence = required ? 'required' : null;
  return { name, schema, description, presence };
}

function bodyOf(document: OpenApiDocument, { requestBody, operationId }: Operation): Html | null {
  const schema = requestBody?.content['application/json']?.schema;
  if (requestBody === undefined || schema === undefined) return null;
  const scope = { id: `${operationId}.body`, of: 'Body' };
  return html`<h4>Body${!requestBody.required && html` <small>optional</small>`}</h4>${shapeOf(document, schema, scope)}`;
}

/** A body: its name where it has one, and its fields. */
function shapeOf(document: OpenApiDocument, schema: Schema, scope: FieldScope): Html {
  if (schema.anyOf !== undefined)
    return html`${schema.anyOf.map((choice, index) =>
      shapeOf(document, choice, { ...scope, id: `${scope.id}.${index + 1}` }),
    )}`;
  const inside = schema.items ?? schema;
  const fields = fieldsOf(
    inside.$ref === undefined ? inside : resolve<Schema>(document, { $ref: inside.$ref }),
  );
  return html`<p>${typeText(document, schema)}</p>${fields.length > 0 && fieldList(document, fields, scope)}`;
}

const isSuccess = (status: string) => status < '400';

function answersOf(document: OpenApiDocument, { responses, operationId }: Operation): Html[] {
  return Object.entries(responses)
    .filter(([status]) => isSuccess(status))
    .map(([status, response]) => {
      const { description, content = {}, headers = {} } = resolve<Response>(document, response);
      const schema = content['application/json']?.schema;
      const scope = { id: `${operationId}.${status}`, of: `Answer ${status}` };
      return html`<h4>Answer <span class="status">${status}</span></h4>
<p>${inlineMarkdown(description)}</p>${headersOf(document, headers, scope)}${schema && shapeOf(document, schema, scope)}`;
    });
}

/** Headers that nearly every answer has are described once, before all operations. */
const ordinary = (name: string) => EVERYWHERE.has(name) || name.startsWith('RateLimit');

function headersOf(
  document: OpenApiDocument,
  headers: NonNullable<Response['headers']>,
  { id, of }: FieldScope,
): Html | false {
  const fields = Object.entries(headers)
    .filter(([name]) => !ordinary(name))
    .map(([name, reference]) => {
      const { schema, description } = resolve<{ schema: Schema; description: string }>(document, reference);
      return { name, schema, description, presence: null };
    });
  return fields.length > 0 && fieldList(document, fields, { id: `${id}.header`, of });
}

function errorsOf(document: OpenApiDocument, { responses }: Operation): Html {
  const errors = Object.entries(responses).filter(([status]) => !isSuccess(status));
  const statuses = errors.map(([status]) => html`<span class="status">${status}</span> `);
  return html`<details><summary>Errors ${statuses}</summary>${errors.map(
    ([status, response]) =>
      html`<h5>${status}</h5>${markdown(resolve<Response>(document, response).description)}`,
  )}</details>`;
}

function examplesOf(document: OpenApiDocument, { path, method, operation }: DescribedOperation): Html {
  const bodies = Object.values(
    operation.requestBody?.content['application/json']?.examples ?? {},
  ) as Example[];
  const [first, ...others] = bodies;
  const title = first?.summary ?? 'Request';
  return html`${codeBlock(title, curlExample(document, path, method, operation, first?.value))}
${answerExamples(document, operation)}
${others.map(({ summary = 'Body', value }) => codeBlock(summary, jsonText(value)))}`;
}

function answerExamples(document: OpenApiDocument, { responses }: Operation): Html[] {
  return Object.entries(responses)
    .filter(([status]) => isSuccess(status))
    .flatMap(([status, response]) => {
      const { content = {} } = resolve<Response>(document, response);
      return Object.entries(content).map(([type, media]) => codeBlock(`${status} ${type}`, exampleOf(media)));
    });
}

function exampleOf({ examples = {} }: MediaType): string {
  const [example] = Object.values(examples) as Example[];
  return typeof example?.value === 'string' ? example.value : jsonText(example?.value);
}
