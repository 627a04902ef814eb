/** The streams of server-sent events in the description of events: those of the operations that have one. */

import type { AnyOperation, StreamDefinition } from '../http/operation.ts';
import { Failure } from '../http/schemas.ts';
import { NOT_STREAMED } from '../http/streams.ts';
import { type Channel, type EventOperation, inChannel, type Message } from './event-description.ts';
import type { Schema } from './openapi-document.ts';
import { documentedPath, pathParameters } from './paths.ts';
import type { SchemaComponents } from './schema-components.ts';

const ERROR = 'error';

/** The channels of the operations that have a stream, and what is sent over them. */
export function describeStreams(operations: readonly AnyOperation[], schemas: SchemaComponents) {
  const channels: Record<string, Channel> = {};
  const sent: Record<string, EventOperation> = {};
  for (const operation of operations) {
    const { id, answer, token } = operation;
    if (answer.stream === undefined) continue;
    const channel = channelOf(operation, answer.stream, schemas);
    channels[id] = channel;
    sent[`${id}.events`] = {
      action: 'send',
      summary: `The events of \`${channel.address}\``,
      ...inChannel(id, Object.keys(channel.messages)),
      security: [{ $ref: `#/components/securitySchemes/${token}Token` }],
      bindings: { http: { method: 'GET', query: queryOf(operation, schemas), bindingVersion: '0.3.0' } },
    };
  }
  return { channels, operations: sent };
}

function channelOf(
  { path, summary, description }: AnyOperation,
  stream: StreamDefinition,
  schemas: SchemaComponents,
): Channel {
  const parameters = pathParameters(path, schemas).map(({ name, description: text }) => [
    name,
    { description: text },
  ]);
  return {
    address: documentedPath(path),
    title: summary,
    description,
    servers: [{ $ref: '#/servers/streams' }],
    ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
    messages: messagesOf(stream, schemas),
  };
}

/** The name and the ID of an event come beside its data. */
function messagesOf({ events, example }: StreamDefinition, schemas: SchemaComponents) {
  const messages: Record<string, Message> = {};
  for (const [name, data] of Object.entries(events)) {
    const examples = example
      .filter((event) => event.name === name)
      .map(({ id, data: payload }) => ({ headers: { event: name, id }, payload }));
    messages[name] = {
      name,
      headers: fields({ event: { type: 'string', const: name }, id: { type: 'string' } }),
      payload: schemas.describe(data),
      ...(examples.length > 0 && { examples }),
    };
  }
  messages[ERROR] = {
    name: ERROR,
    summary: 'The last event: the stream ends.',
    headers: fields({ event: { type: 'string', const: ERROR } }),
    payload: schemas.describe(Failure),
  };
  return messages;
}

const fields = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

/** The query that a stream takes: it has no pages. */
function queryOf({ query }: AnyOperation, schemas: SchemaComponents): Schema {
  const properties = Object.entries(query?.properties ?? {}).filter(([name]) => !NOT_STREAMED.includes(name));
  return {
    type: 'object',
    properties: Object.fromEntries(
      properties.map(([name, schema]) => [
        name,
        { ...schemas.describe(schema), description: schema['x-meaning'] as string },
      ]),
    ),
    additionalProperties: false,
  };
}
