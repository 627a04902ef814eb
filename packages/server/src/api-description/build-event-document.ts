import manifest from '../../package.json' with { type: 'json' };
import type { AnyOperation } from '../http/operation.ts';
import { describeSocket } from './event-socket.ts';
import { describeStreams } from './event-streams.ts';
import { SECURITY_SCHEMES } from './introduction.ts';
import { SchemaComponents } from './schema-components.ts';

const DESCRIPTION = `
What a server sends by itself: the frames of the socket, and the events of streams (\`Accept: text/event-stream\`). Requests and
their answers are in \`/openapi.json\`, with the same schemas.`.trim();

export type EventDocument = ReturnType<typeof buildEventDocument>;

/** Describes the socket and the streams of the operations, as an AsyncAPI document. */
export function buildEventDocument(operations: readonly AnyOperation[]) {
  const schemas = new SchemaComponents();
  const socket = describeSocket(operations, schemas);
  const streams = describeStreams(operations, schemas);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Rollcall: socket and streams',
      version: manifest.version,
      description: DESCRIPTION,
      license: { name: manifest.license },
    },
    defaultContentType: 'application/json',
    servers: { socket: serverOf('ws'), streams: serverOf('http') },
    channels: { ...socket.channels, ...streams.channels },
    operations: { ...socket.operations, ...streams.operations },
    components: { schemas: schemas.all(), securitySchemes: SECURITY_SCHEMES },
  };
}

/** The server that the description comes from: its name is for the reader to fill in. */
const serverOf = (protocol: 'ws' | 'http') => ({
  host: '{host}',
  protocol,
  description: `Over TLS: \`${protocol === 'ws' ? 'wss' : 'https'}\`.`,
  variables: { host: { default: '127.0.0.1:8080', description: 'Host and port of the server.' } },
});
