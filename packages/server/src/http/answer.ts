/** How answers leave. Bodies are JSON texts: presenters write them, and nothing serialises them again. */
import type { ErrorCode } from '@rollcall/protocol';
import type { FastifyReply } from 'fastify';
import type { ServiceError } from '../core/service-error.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The body of a write that was done. */
export const done = (message: string) => `{"success":true,"message":${JSON.stringify(message)}}`;

export const errorBody = (code: ErrorCode, message: string) =>
  `{"error":"${code}","message":${JSON.stringify(message)}}`;

export function sendError(reply: FastifyReply, { code, status, message, headers }: ServiceError): void {
  reply.code(status).headers(headers).type(JSON_TYPE).send(errorBody(code, message));
}
