import { Authorization, Authorized, Done } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import type { Services } from '../../services.ts';
import { done } from '../answer.ts';
import { presentIssuedToken } from '../present.ts';
import { answers } from '../schemas.ts';

const tags = ['tokens'];
const url = '/v1/authorize';

/** A token is a few hundred bytes. Anybody may send this body, so that it must not be one that takes long to read. */
const BODY_LIMIT_BYTES = 64 * 1_024;

/** Needs no Authorization header: the body is the credential. */
export function authorizeRoutes(app: FastifyInstance, { tokens }: Services): void {
  const schema = {
    operationId: 'authorize',
    summary: 'Exchange an app token for an access token',
    tags,
    body: Authorization,
    response: answers(Authorized),
  };
  app.post<{ Body: Authorization }>(url, { schema, bodyLimit: BODY_LIMIT_BYTES }, async ({ body }) =>
    presentIssuedToken(await tokens.authorize(body.signed_app_token)),
  );
}

export function revokeRoutes(app: FastifyInstance, { tokens }: Services): void {
  const schema = {
    operationId: 'revoke',
    summary: 'Revoke the access token in use',
    tags,
    response: answers(Done),
  };
  app.delete(url, { schema }, async ({ caller }) => {
    await tokens.revoke(caller);
    return done('revoked the access token');
  });
}
