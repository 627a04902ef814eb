/**
 * Long lists of IDs on their way from the thread that has read a request's body to the thread that applies it. Between
 * them the event loop passes bytes on: a list of 500,000 strings costs it some 100 ms each time it is copied, bytes that
 * are transferred cost it nothing.
 */

/** IDs as the bytes of a JSON array. */
export interface PackedIds {
  readonly count: number;
  readonly bytes: Uint8Array;
}

export type IdList = readonly string[] | PackedIds;

export function packIds(ids: readonly string[]): PackedIds {
  return { count: ids.length, bytes: Buffer.from(JSON.stringify(ids)) };
}

export const isPacked = (list: IdList | undefined): list is PackedIds =>
  list !== undefined && !Array.isArray(list);

export const hasPackedList = (parameter: unknown): boolean =>
  typeof parameter === 'object' && parameter !== null && Object.values(parameter).some(isPackedList);

const isPackedList = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'bytes' in value && value.bytes instanceof Uint8Array;

/** The IDs themselves. For the thread that applies the write: it takes some 0.5 ms for each 1,000 IDs. */
export function unpackIds(list: IdList): readonly string[] {
  if (!isPacked(list)) return list;
  const { buffer, byteOffset, byteLength } = list.bytes;
  return JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString());
}
