import type { UserWrite } from '@rollcall/protocol';
import type { GroupChange, Json } from './store.ts';

/**
 * A write with its metadata as the text that is stored. To SQLite's writer thread it goes like this: copying an object
 * there gives up on deep nesting, and would take every other write of the same message with it.
 */
export type Stored<Write extends { metadata?: unknown }> = Omit<Write, 'metadata'> & {
  readonly metadata?: Json;
};

export type StoredUserWrite = Stored<UserWrite>;
export type StoredGroupWrite = Stored<GroupChange>;

export function toStored<Write extends { metadata?: unknown }>(write: Write): Stored<Write> {
  if (write.metadata === undefined) return write as Stored<Write>;
  return { ...write, metadata: JSON.stringify(write.metadata) };
}
