/** How answers leave. Bodies are JSON texts: presenters write them, and nothing serialises them again. */
import type { ServerResponse } from 'node:http';
import type { ErrorCode } from '@rollcall/protocol';
import type { FastifyReply } from 'fastify';
import type { ServiceError } from '../core/service-error.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The body of a write that was done. */
export const done = (message: string) => `{"success":true,"message":${JSON.stringify(message)}}`;

export const errorBody = (code: ErrorCode, message: string) =>
  `{"error":"${code}","message":${JSON.stringify(message)}}`;

/** Answers without the framework; `headers` besides those that every answer has. */
export function answerRaw(
  response: ServerResponse,
  status: number,
  id: string,
  body: string,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): void {
  const every = [
    'x-request-id',
    id,
    'content-type',
    JSON_TYPE,
    'content-length',
    `${Buffer.byteLength(body)}`,
  ];
  const all = headers === NO_HEADERS ? every : [...every, ...Object.entries(headers).flat()];
  response.writeHead(status, all).end(body);
}

const NO_HEADERS = Object.freeze({});

export function sendError(reply: FastifyReply, { code, status, message, headers }: ServiceError): void {
  reply.code(status).headers(headers).type(JSON_TYPE).send(errorBody(code, message));
}
