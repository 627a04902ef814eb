import type { CallOptions, Transport } from '../http/transport.ts';

/** A resource with the name of its state, which changes whenever the resource does. */
export interface Tagged<T> {
  readonly value: T;
  readonly etag: string;
}

/** What a write requires of the present state. It is refused with status 412 where that does not hold, and never sent twice. */
export interface Precondition {
  /** Only if this is still its state; `*`: only if it is there. */
  readonly ifMatch?: string | undefined;
  /** `*`: only if it is not there yet. */
  readonly ifNoneMatch?: string | undefined;
}

export const preconditionHeaders = ({ ifMatch, ifNoneMatch }: Precondition) => ({
  'if-match': ifMatch,
  'if-none-match': ifNoneMatch,
});

/** Reads a resource and its ETag; null where its state is still `known`. */
export async function readTagged<T>(
  transport: Transport,
  path: string,
  options?: CallOptions,
  known?: string,
): Promise<Tagged<T> | null> {
  const request = { method: 'GET', path, headers: { 'if-none-match': known } } as const;
  const { status, body, headers } = await transport.send(request, options);
  return status === 304 ? null : { value: body as T, etag: headers.get('etag') ?? '' };
}
