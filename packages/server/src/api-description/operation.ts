import { type AnyOperation, isLimited, maxBytesOf } from '../http/operation.ts';
import { errorsByStatus } from './errors.ts';
import { isOlderName } from './older-names.ts';
import type { MediaType, Operation, Parameter, Reference, Response, Schema } from './openapi-document.ts';
import { pathParameters } from './paths.ts';
import type { SchemaComponents } from './schema-components.ts';
import { ANY_ANSWER, headerRef, LIMITED_ANSWER, parameterRef } from './shared-headers.ts';
import { bodyTooLarge, errorResponse, responseRef, unavailable } from './shared-responses.ts';
import { streamMedia } from './stream-schema.ts';

export function describeOperation(operation: AnyOperation, schemas: SchemaComponents): Operation {
  const { id, summary, description, tag, token, body } = operation;
  return {
    operationId: id,
    summary,
    description,
    tags: [tag.name],
    ...(isOlderName(operation) && { deprecated: true }),
    security: token === 'none' ? [] : [{ [`${token}Token`]: [] }],
    parameters: parametersOf(operation, schemas),
    ...(body !== undefined && { requestBody: requestBodyOf(body, schemas) }),
    responses: responsesOf(operation, schemas),
  };
}

const CONDITIONS = {
  read: ['IfNoneMatch'],
  tagged: [],
  write: ['IfMatch'],
  put: ['IfMatch', 'OnlyCreate'],
} as const;

function parametersOf(
  { path, query, conditions }: AnyOperation,
  schemas: SchemaComponents,
): (Parameter | Reference)[] {
  const { properties = {}, required = [] } = query ?? {};
  const parameters = Object.entries(properties).map(([name, schema]) =>
    queryParameter(name, schema as Schema, required.includes(name), schemas),
  );
  const headers = conditions === undefined ? [] : CONDITIONS[conditions];
  return [...pathParameters(path, schemas), ...parameters, ...[...headers, 'RequestId'].map(parameterRef)];
}

function queryParameter(
  name: string,
  { 'x-meaning': meaning, 'x-example': example, default: ofUse, ...value }: Schema,
  required: boolean,
  schemas: SchemaComponents,
): Parameter {
  if (typeof meaning !== 'string') throw new Error(`the parameter ${name} has no meaning`);
  const { description: _expected, ...described } = schemas.describe(value);
  const schema = { ...described, ...(ofUse !== undefined && { default: ofUse }) };
  return {
    name,
    in: 'query',
    description: meaning,
    ...(required && { required }),
    ...(value.type === 'object' && { style: 'deepObject', explode: true }),
    schema,
    ...(example !== undefined && { example }),
  };
}

function requestBodyOf(
  { schema, examples, isOptional = false }: NonNullable<AnyOperation['body']>,
  schemas: SchemaComponents,
): NonNullable<Operation['requestBody']> {
  const content: MediaType = { schema: schemas.describe(schema), examples };
  return { required: !isOptional, content: { 'application/json': content } };
}

/** One response for each status that can be answered. */
function responsesOf(
  operation: AnyOperation,
  schemas: SchemaComponents,
): Record<string, Response | Reference> {
  const { answer, conditions, body, token } = operation;
  const responses: Record<string, Response | Reference> = {
    [answer.status ?? 200]: successOf(operation, schemas),
    ...(answer.created !== undefined && {
      201: successOf({ ...operation, answer: answer.created }, schemas),
    }),
  };
  if (conditions === 'read') responses[304] = responseRef('NotModified');
  for (const [status, reasons] of errorsByStatus(operation)) {
    responses[status] = errorResponse(reasons, status === 401 ? UNAUTHORIZED : {});
  }
  for (const [status, when] of Object.entries(operation.statuses ?? {}))
    responses[status] = errorResponse({ invalid_request: when }, status === '426' ? UPGRADE : {});
  if (conditions === 'write' || conditions === 'put') responses[412] = responseRef('PreconditionFailed');
  if (body !== undefined) responses[413] = bodyTooLarge(maxBytesOf(body));
  if (isLimited(operation)) responses[429] = responseRef('TooManyRequests');
  responses[500] = responseRef('Failed');
  if (operation.unavailable !== undefined) responses[503] = unavailable(operation.unavailable);
  else if (token !== 'none') responses[503] = responseRef('Unavailable');
  return responses;
}

const UPGRADE = { Upgrade: headerRef('Upgrade') };
const UNAUTHORIZED = { 'WWW-Authenticate': headerRef('WwwAuthenticate') };

function successOf(operation: AnyOperation, schemas: SchemaComponents): Response {
  const { answer, conditions } = operation;
  const isTagged = conditions === 'read' || conditions === 'tagged' || answer.hasETag === true;
  const { schema, example, type = 'application/json', stream } = answer;
  const content: Record<string, MediaType> = {
    [type]: { schema: schemas.describe(schema), examples: { answer: { value: example } } },
  };
  if (stream !== undefined) content['text/event-stream'] = streamMedia(stream, schemas);
  return {
    description: answer.description,
    headers: {
      ...ANY_ANSWER,
      ...(isTagged && { ETag: headerRef('ETag') }),
      ...(answer.hasLink === true && { Link: headerRef('Link') }),
      ...(isLimited(operation) && LIMITED_ANSWER),
    },
    content,
  };
}
