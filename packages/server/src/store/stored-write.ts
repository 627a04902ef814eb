import type { Json } from '../values/json.ts';

/**
 * A write with its metadata as the text that is stored. It can go to another thread like this: copying an object there
 * fails on deep nesting.
 */
export type Stored<Write extends { metadata?: unknown }> = Omit<Write, 'metadata'> & {
  readonly metadata?: Json;
};

export function toStored<Write extends { metadata?: unknown }>(write: Write): Stored<Write> {
  if (write.metadata === undefined) return write as Stored<Write>;
  return { ...write, metadata: JSON.stringify(write.metadata) };
}
