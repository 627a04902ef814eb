import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { limits } from '@rollcall/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { JSON_TYPE } from '../answer.ts';

const USABLE_ID = new RegExp(`^[\\x21-\\x7e]{1,${limits.REQUEST_ID_MAX_LENGTH}}$`);
const process = randomBytes(6).toString('base64url');
let count = 0;

/** The request's own ID where it is usable, else one that no other request has. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  if (typeof given === 'string' && USABLE_ID.test(given)) return given;
  return newRequestId();
}

export function newRequestId(): string {
  count += 1;
  return `${process}-${count.toString(36)}`;
}

/** What every answer starts from: its request's ID, and JSON unless a route says otherwise. */
export function startAnswer(request: FastifyRequest, reply: FastifyReply): void {
  request.startedAt = performance.now();
  reply.header('x-request-id', request.id);
  reply.header('content-type', JSON_TYPE);
}

export function addRequestContext(app: FastifyInstance): void {
  app.decorateRequest('startedAt', 0);
  app.addHook('onRequest', (request, reply, next) => {
    startAnswer(request, reply);
    next();
  });
}
