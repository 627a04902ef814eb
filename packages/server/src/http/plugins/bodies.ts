import type { FastifyInstance } from 'fastify';

/**
 * Bodies are handed on as bytes, and only `application/json` (with any parameters) is a body. A DELETE has none: some
 * clients send its content type without one.
 */
export function addBodies(app: FastifyInstance): void {
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    done(null, bytes);
  });
}
