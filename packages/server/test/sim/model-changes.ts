/** The recorded changes of the naive model. A write has one record, and each record follows the one before. */
import type { Change } from '../../src/store/changes.ts';
import { unpackIds } from '../../src/store/packed-ids.ts';
import type { ChangeStore } from '../../src/store/ports/changes.ts';
import type { WriteContext } from '../../src/store/write-context.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import type { ModelState } from './model-state.ts';

const recordsOf = ({ projects }: ModelState, key: ProjectKey) => projects.get(key)?.records ?? [];

const newestOf = (state: ModelState, key: ProjectKey) => recordsOf(state, key).at(-1)?.position ?? 0;

export function recordChanges(
  state: ModelState,
  key: ProjectKey,
  changes: readonly Change[],
  { now, actor, requestId }: WriteContext,
): void {
  if (changes.length === 0) return;
  const position = newestOf(state, key) + 1;
  const unpacked = changes.map((change) =>
    'users' in change ? { ...change, users: unpackIds(change.users) } : change,
  );
  recordsOf(state, key).push({ position, at: now, actor, requestId, changes: unpacked });
}

export function changesOf(state: ModelState): ChangeStore {
  return {
    read: async (key, after, limit) => {
      const records = recordsOf(state, key);
      return {
        epoch: `${key}`,
        newest: newestOf(state, key),
        removedTo: (records[0]?.position ?? 1) - 1,
        records: records.filter(({ position }) => position > after).slice(0, limit),
      };
    },
    order: async (written) => ({
      newest: [...written].map((key) => [key, newestOf(state, key)] as const),
      hasMore: false,
    }),
    removeBefore: async (time) => {
      for (const { records } of state.projects.values()) {
        while (records.length > 1 && (records[0]?.at ?? time) < time) records.shift();
      }
      return false;
    },
  };
}
