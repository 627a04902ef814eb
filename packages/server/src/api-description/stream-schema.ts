/** Streams of server-sent events in the API description. */
import type { StreamDefinition } from '../http/operation.ts';
import { Failure } from '../http/schemas.ts';
import { eventBlock, retryText } from '../wire/event-text.ts';
import type { MediaType, Schema } from './openapi-document.ts';
import type { SchemaComponents } from './schema-components.ts';

/** Streams have their own; this one is of the examples. */
const EXAMPLE_RETRY_MS = 1_811;

/**
 * A stream as it is sent, which is text, with the schema of its events. OpenAPI 3.1 has no keyword for the events of a stream;
 * `contentSchema` is JSON Schema's for what a text contains.
 */
export function streamMedia(stream: StreamDefinition, schemas: SchemaComponents): MediaType {
  const text = stream.example.map(({ name, id, data }) =>
    eventBlock({ name, id, data: JSON.stringify(data) }),
  );
  return {
    schema: {
      type: 'string',
      description: 'Server-sent events: each has the fields `event`, `data` (JSON) and `id`.',
      contentMediaType: 'text/event-stream',
      contentSchema: { type: 'array', items: eventSchema(stream, schemas) },
    },
    examples: { answer: { value: retryText(EXAMPLE_RETRY_MS) + text.join('') } },
  };
}

/** A reference to the schema of an event, whose `data` is parsed. */
function eventSchema({ name, events }: StreamDefinition, schemas: SchemaComponents): Schema {
  return schemas.define(name, () => ({
    description: 'An event of a stream, with its `data` parsed.',
    oneOf: [
      ...[...namesByData(events)].map(([data, names]) => ({
        type: 'object',
        properties: {
          event: { ...oneOfNames(names), description: 'The name of the event.' },
          data: { ...schemas.describe(data), description: 'What happened.' },
          id: {
            type: 'string',
            description: 'Where the stream goes on: send it as `Last-Event-ID`.',
          },
        },
        required: ['event', 'data', 'id'],
      })),
      {
        type: 'object',
        properties: {
          event: { type: 'string', const: 'error', description: 'The last event: the stream ends.' },
          data: { ...schemas.describe(Failure), description: 'Why it ends.' },
        },
        required: ['event', 'data'],
      },
    ],
  }));
}

function namesByData(events: StreamDefinition['events']): Map<Schema, string[]> {
  const names = new Map<Schema, string[]>();
  for (const [name, data] of Object.entries(events)) names.set(data, [...(names.get(data) ?? []), name]);
  return names;
}

const oneOfNames = (names: readonly string[]): Schema =>
  names.length === 1 ? { type: 'string', const: names[0] } : { type: 'string', enum: names };
