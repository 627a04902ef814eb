import { text } from '@rollcall/protocol';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { JSON_TYPE } from '../answer.ts';
import type { DescribedRoute, RouteSchema } from '../openapi/described-route.ts';
import { answers } from '../schemas.ts';

const tags = ['operation'];

/**
 * `/openapi.json` and `/docs`: what every route added after this takes and answers, from the schemas that check it.
 * Prose and examples are loaded, and the bytes made, when they are first asked for.
 */
export function addApiDescription(app: FastifyInstance): void {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', function (route) {
    // A HEAD comes with every GET; the description says so once.
    if (route.method !== 'HEAD') routes.push(describedRoute(route, this.tokenKind));
  });
  const document = once(async () => {
    const { buildDocument } = await import('../openapi/build-document.ts');
    return Buffer.from(JSON.stringify(buildDocument(routes)));
  });
  serveDocument(app, document);
  servePage(app, document);
}

function describedRoute(
  { method, url, schema, config }: RouteOptions,
  tokenKind: FastifyInstance['tokenKind'],
): DescribedRoute {
  const bodyOptional = config?.bodyOptional ?? false;
  return { method: String(method), url, schema: schema as RouteSchema, tokenKind, bodyOptional };
}

function serveDocument(app: FastifyInstance, document: () => Promise<Buffer>): void {
  const schema = {
    operationId: 'openapi',
    summary: 'This description of the API, for programs',
    tags,
    response: answers({ type: 'object' }),
  };
  app.get('/openapi.json', { schema }, async (_request, reply) => {
    reply.type(JSON_TYPE);
    return document();
  });
}

function servePage(app: FastifyInstance, document: () => Promise<Buffer>): void {
  const schema = {
    operationId: 'docs',
    summary: 'This description of the API, for people',
    tags,
    response: { 200: { content: { 'text/html': { schema: text() } } } },
  };
  const page = once(async () => {
    const { buildDocsPage } = await import('../docs-page/docs-page.ts');
    return buildDocsPage(JSON.parse((await document()).toString()));
  });
  app.get('/docs', { schema }, async (_request, reply) => {
    const { bytes, securityPolicy } = await page();
    reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': securityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    return bytes;
  });
}

/** Makes a value when it is first asked for; after a failure, the next one who asks tries again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
