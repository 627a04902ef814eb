import { isJsonObject, type JsonObject, parseJson } from '@rollcall/protocol';

/** A JWT taken apart; nothing about it has been verified. */
export interface Jwt {
  /** The three parts as they arrived. */
  readonly compact: string;
  readonly header: JsonObject;
  readonly claims: JsonObject;
}

/** The third part is empty in an unsigned token (`alg: none`), which is well-formed and then rejected by its kind. */
const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]*)$/;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Takes a token apart, or null when it is not three base64url parts with JSON objects in the first two. */
export function parseJwt(compact: string): Jwt | null {
  const parts = COMPACT.exec(compact);
  if (parts === null) return null;
  const [, protectedHeader = '', payload = '', signature = ''] = parts;
  const header = parseObject(protectedHeader);
  const claims = parseObject(payload);
  if (header === null || claims === null || !isBase64url(signature)) return null;
  return { compact, header, claims };
}

/** Four characters are three bytes; a last group of two or three is one or two bytes, and one alone is nothing. */
const isBase64url = (part: string) => part.length % 4 !== 1;

function parseObject(part: string): JsonObject | null {
  if (!isBase64url(part)) return null;
  try {
    const value = parseJson(utf8.decode(Buffer.from(part, 'base64url')));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
