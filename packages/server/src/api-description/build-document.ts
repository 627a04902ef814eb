import manifest from '../../package.json' with { type: 'json' };
import type { AnyOperation } from '../http/operation.ts';
import { INTRODUCTION, SECURITY_SCHEMES } from './introduction.ts';
import { underOlderName } from './older-names.ts';
import type { Operation } from './openapi-document.ts';
import { describeOperation } from './operation.ts';
import { documentedPath } from './paths.ts';
import { SchemaComponents } from './schema-components.ts';
import { HEADERS, PARAMETERS } from './shared-headers.ts';
import { EXAMPLES, RESPONSES } from './shared-responses.ts';
import { describeDelivery } from './webhook-delivery.ts';

export type OpenApiDocument = ReturnType<typeof buildDocument>;

/** Describes the operations, those of groups under the older name too. */
export function buildDocument(operations: readonly AnyOperation[]) {
  const schemas = new SchemaComponents();
  /** By path, then by method in lower case. */
  const paths: Record<string, Record<string, Operation>> = {};
  const described = [...operations, ...operations.flatMap(underOlderName)];
  for (const operation of described) {
    const path = documentedPath(operation.path);
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = describeOperation(operation, schemas);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Rollcall',
      version: manifest.version,
      summary: 'Who belongs, how to reach them, and who is where right now.',
      description: INTRODUCTION,
      license: { name: manifest.license, identifier: manifest.license },
    },
    servers: [{ url: '/', description: 'The server that this description comes from' }],
    tags: [...new Set(described.map(({ tag }) => tag))],
    paths,
    webhooks: { delivery: { post: describeDelivery(schemas) } },
    components: {
      schemas: schemas.all(),
      responses: RESPONSES,
      parameters: PARAMETERS,
      examples: EXAMPLES,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}
