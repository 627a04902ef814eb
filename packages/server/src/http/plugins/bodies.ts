import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../core/service-error.ts';

/**
 * Bodies are handed on as bytes, and only `application/json` (with any parameters) is a body. A DELETE has none: some
 * clients send its content type without one.
 */
export function addBodies(app: FastifyInstance): void {
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, ({ headers }, bytes, done) => {
    const { 'content-encoding': encoding = 'identity' } = headers;
    if (encoding === 'identity') done(null, bytes);
    else
      done(
        new ServiceError('invalid_request', `the request body is sent as ${encoding}: send it uncompressed`),
      );
  });
}
