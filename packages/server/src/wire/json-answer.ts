/** The JSON bodies that many operations answer. */
import type { ErrorCode } from '@rollcall/protocol';

export const JSON_TYPE = 'application/json; charset=utf-8';

export const text = JSON.stringify as (value: string | null) => string;

/** What a caller gets of an error. */
export interface PublicError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The body of every answer that is not a success, and of the event that ends a stream. */
export const errorBody = (error: PublicError) => `{${errorFields(error)}}`;

/**
 * The fields of an error, in an object that has others too. The message may name a field with a lone surrogate, or be cut within a
 * pair of them: JSON can escape one, but many parsers reject it.
 */
export const errorFields = ({ code, message }: PublicError) =>
  `"error":"${code}","message":${text(message.toWellFormed())}`;

/** The body of a write that was applied. */
export const done = (message: string) => `${appliedHead(message)}}`;

/** The same without its end, for bodies with further fields. */
export const appliedHead = (message: string) => `{"success":true,"message":${text(message)}`;

/** The body of a write that created something whose ID the service may have made. */
export const created = (message: string, id: string) => `${appliedHead(message)},"id":${text(id)}}`;

/** The body of an append; `length` is of the whole text now, in code points. */
export const appended = (message: string, length: number) => `${appliedHead(message)},"length":${length}}`;

/** The text of a list before its entries, which follow in pieces where there are many. */
export const listHead = (name: string) => `{"${name}":[`;

/**
 * The text of a list after its entries. `token` leads to the next page; `total`, on lists that have it, counts the whole
 * list.
 */
export const listTail = (token: string | null, total?: number) =>
  `],"pagination":{"token":${text(token)}${total === undefined ? '' : `,"total":${total}`}}}`;

/** The number of entries of a list that was requested without them. */
export const countBody = (count: number) => `{"count":${count}}`;

/** The body of a health check that succeeds. */
export const HEALTHY = '{"status":"ok"}';
