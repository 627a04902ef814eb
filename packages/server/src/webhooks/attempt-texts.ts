/** The texts of attempts, which the host reads. */
import { limits } from '@rollcall/protocol';
import { AddressError } from './host-lookup.ts';

/** Longest text of an error, in UTF-16 units: a certificate's name may be part of it. */
const ERROR_MAX_LENGTH = 200;

/** The start of a body as text that every store takes. A character that the limit divides is left out. */
export function answerText(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes, { stream: true });
  return text.replaceAll('\0', '\u{fffd}');
}

/** Why an answer of this status is no acknowledgement; null where it is one. */
export function statusError(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400
    ? `the receiver answered ${status}; redirects are not followed`
    : `the receiver answered ${status}`;
}

/** Why there was no answer where this process ended the attempt: it stops, or the webhook was replayed or deleted, or taken over. */
export const ABORTED = 'the server ended the attempt';

/** Why there was no answer. */
export function errorText(thrown: unknown): string {
  const error = thrown as NodeJS.ErrnoException;
  if (error instanceof AddressError) return error.message;
  if (error.name === 'AbortError' || error.name === 'TimeoutError')
    return `the receiver did not answer within ${limits.WEBHOOK_ANSWER_SECONDS} seconds`;
  // Where a host has several addresses, it is that of the first.
  const { code } = error;
  const problem = code?.startsWith('HPE_') ? 'the answer is not HTTP' : 'no answer';
  return (KNOWN[code ?? ''] ?? `${problem}: ${code ?? error.message}`).slice(0, ERROR_MAX_LENGTH);
}

const KNOWN: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the receiver refused the connection',
  ECONNRESET: 'the receiver closed the connection',
  EPIPE: 'the receiver closed the connection',
  ENOTFOUND: 'the host has no address',
  EAI_AGAIN: 'the address of the host could not be found',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are larger than 16 KiB',
};
