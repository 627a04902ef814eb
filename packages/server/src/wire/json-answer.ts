/** The JSON bodies that many operations answer. */
import type { ErrorCode } from '@rollcall/protocol';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The body of a write that was applied. */
export const done = (message: string) => `{"success":true,"message":${JSON.stringify(message)}}`;

/** The body of every answer that is not a success, and of the event that ends a stream. */
export const errorBody = (code: ErrorCode, message: string) =>
  `{"error":"${code}","message":${JSON.stringify(message)}}`;

/** The body of a write that created something whose ID the service may have made. */
export const created = (message: string, id: string) =>
  `{"success":true,"message":${JSON.stringify(message)},"id":${JSON.stringify(id)}}`;

/** The body of an append; `length` is of the whole text now, in code points. */
export const appended = (message: string, length: number) =>
  `{"success":true,"message":${JSON.stringify(message)},"length":${length}}`;
