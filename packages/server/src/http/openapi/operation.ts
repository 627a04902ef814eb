import { limits } from '@rollcall/protocol';
import { ORGANIZATIONS } from '../routes/route-words.ts';
import type { DescribedRoute } from './described-route.ts';
import { pathParameters } from './document-paths.ts';
import type { MediaType, Operation, Parameter, Reference, Response } from './openapi-document.ts';
import type { OperationNotes, QueryNote } from './operation-notes.ts';
import { refusalsByStatus } from './refusals.ts';
import type { SchemaComponents } from './schema-components.ts';
import { ANY_ANSWER, headerRef, LIMITED_ANSWER, parameterRef } from './shared-headers.ts';
import { refusal, responseRef, unavailable } from './shared-responses.ts';

/** Describes one route. */
export function describeOperation(
  route: DescribedRoute,
  notes: OperationNotes,
  schemas: SchemaComponents,
): Operation {
  const { operationId, summary, tags, body } = route.schema;
  const description = [route.schema.description, notes.description].filter(Boolean).join('\n\n');
  const isAlias = route.url.startsWith(ORGANIZATIONS.path);
  return {
    operationId,
    summary: notes.summary ?? summary,
    ...(description !== '' && { description }),
    tags: isAlias ? ORGANIZATIONS.tags : tags,
    ...(isAlias && { deprecated: true }),
    security: route.tokenKind === null ? [] : [{ [`${route.tokenKind}Token`]: [] }],
    parameters: parametersOf(route, notes, schemas),
    ...(body !== undefined && { requestBody: requestBodyOf(route, notes, schemas) }),
    responses: responsesOf(route, notes, schemas),
  };
}

const CONDITIONS = { read: ['IfNoneMatch'], write: ['IfMatch'], put: ['IfMatch', 'OnlyCreate'] } as const;

function parametersOf(
  { url, schema }: DescribedRoute,
  notes: OperationNotes,
  schemas: SchemaComponents,
): (Parameter | Reference)[] {
  const { properties = {}, required = [] } = schema.querystring ?? {};
  const query = Object.entries(properties).map(([name, value]) => {
    const note = notes.query?.[name] ?? PAGING[name];
    if (note === undefined)
      throw new Error(`${schema.operationId}: nothing is said of the parameter ${name}`);
    return queryParameter(name, value as object, required.includes(name), note, schemas);
  });
  const conditions = notes.conditions === undefined ? [] : CONDITIONS[notes.conditions];
  return [...pathParameters(url, schemas), ...query, ...[...conditions, 'RequestId'].map(parameterRef)];
}

/** What every paged list takes, unless its notes say otherwise. */
const PAGING: Readonly<Record<string, QueryNote>> = {
  limit: { description: 'How many entries at most.', default: limits.PAGE_DEFAULT_LIMIT, example: 100 },
  token: { description: 'Where to go on: `pagination.token` of the page before.' },
};

function queryParameter(
  name: string,
  value: object,
  required: boolean,
  { description, example, ...note }: QueryNote,
  schemas: SchemaComponents,
): Parameter {
  const { description: _expected, ...described } = schemas.describe(value);
  const schema = { ...described, ...note };
  const isJson = (value as { type?: unknown }).type === 'object';
  return {
    name,
    in: 'query',
    description,
    ...(required && { required }),
    ...(isJson
      ? { content: { 'application/json': { schema, examples: { [name]: { value: example } } } } }
      : { schema, ...(example !== undefined && { example }) }),
  };
}

function requestBodyOf(
  { schema, bodyOptional }: DescribedRoute,
  { bodies = {} }: OperationNotes,
  schemas: SchemaComponents,
): NonNullable<Operation['requestBody']> {
  const content: MediaType = { schema: schemas.describe(schema.body as object), examples: bodies };
  return { required: !bodyOptional, content: { 'application/json': content } };
}

/** One response for each status that can be answered. */
function responsesOf(
  route: DescribedRoute,
  notes: OperationNotes,
  schemas: SchemaComponents,
): Record<string, Response | Reference> {
  const { schema, tokenKind } = route;
  const responses: Record<string, Response | Reference> = {};
  for (const [status, answer] of Object.entries(schema.response)) {
    if (/^2\d\d$/.test(status)) responses[status] = successOf(answer, route, notes, schemas);
  }
  if (notes.conditions === 'read') responses[304] = responseRef('NotModified');
  for (const [status, reasons] of refusalsByStatus(route, notes)) {
    responses[status] = refusal(reasons, status === 401 ? UNAUTHORIZED : {});
  }
  if (notes.conditions === 'write' || notes.conditions === 'put')
    responses[412] = responseRef('PreconditionFailed');
  if (schema.body !== undefined) responses[413] = responseRef('BodyTooLarge');
  if (isLimited(tokenKind)) responses[429] = responseRef('TooManyRequests');
  responses[500] = responseRef('Failed');
  if (notes.unavailable !== undefined) responses[503] = unavailable(notes.unavailable);
  else if (tokenKind !== null) responses[503] = responseRef('Unavailable');
  return responses;
}

/** The limit is a project's, and so are these tokens. */
const isLimited = (tokenKind: DescribedRoute['tokenKind']) =>
  tokenKind === 'project' || tokenKind === 'client';

const UNAUTHORIZED = { 'WWW-Authenticate': headerRef('WwwAuthenticate') };

function successOf(
  body: object,
  { tokenKind }: DescribedRoute,
  { success, answer, stream, conditions, linksNext }: OperationNotes,
  schemas: SchemaComponents,
): Response {
  const { content = { 'application/json': { schema: body } } } = body as {
    content?: Record<string, { schema: object }>;
  };
  return {
    description: success,
    headers: {
      ...ANY_ANSWER,
      ...(conditions === 'read' && { ETag: headerRef('ETag') }),
      ...(linksNext === true && { Link: headerRef('Link') }),
      ...(isLimited(tokenKind) && LIMITED_ANSWER),
    },
    content: Object.fromEntries(
      Object.entries(content).map(([type, { schema }]) => [
        type,
        {
          schema: schemas.describe(schema),
          examples: { answer: { value: type === 'text/event-stream' ? stream : answer } },
        },
      ]),
    ),
  };
}
