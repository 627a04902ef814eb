/** The recorded changes of the naive model. A write has one record for each topic, and each record follows the one before. */
import { type Topic, topicOfRecord } from '../../src/store/changes/change-topics.ts';
import type { Change } from '../../src/store/changes/changes.ts';
import { storedParts } from '../../src/store/changes/stored-changes.ts';
import { type ChangeRecord, type ChangeStore, REMOVED_AT_ONCE } from '../../src/store/ports/changes.ts';
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
  let before: Topic | null | undefined;
  for (const { text, topic } of storedParts(changes)) {
    const records = recordsOf(state, key);
    const last = topic === before ? records.pop() : undefined;
    before = topic;
    const position = newestOf(state, key) + 1;
    const all = [...(last?.changes ?? []), ...JSON.parse(text)];
    records.push({ position, at: now, actor, requestId, changes: all });
  }
}

export function changesOf(state: ModelState): ChangeStore {
  const reading = (key: ProjectKey, records: readonly ChangeRecord[], after: number, limit: number) => ({
    epoch: `${key}`,
    newest: newestOf(state, key),
    projectExists: state.projects.has(key),
    removedTo: (recordsOf(state, key)[0]?.position ?? 1) - 1,
    records: records.filter(({ position }) => position > after).slice(0, limit),
  });
  return {
    read: async (key, after, limit) => reading(key, recordsOf(state, key), after, limit),
    readTopics: async (key, topics, after, limit) => {
      const found = recordsOf(state, key).filter(({ changes }) =>
        topics.includes(topicOfRecord(changes) ?? ''),
      );
      return reading(key, found, after, limit);
    },
    order: async (written) => ({
      newest: [...written].map((key) => [key, newestOf(state, key)] as const),
      hasMore: false,
    }),
    extent: async () => {
      const all = [...state.projects.values()].flatMap(({ records }) => records);
      const times = all.map(({ at }) => at);
      return { records: all.length, oldestAt: all.length === 0 ? null : Math.min(...times) };
    },
    removeBefore: async (time) => {
      let mayBeMore = false;
      for (const { records } of state.projects.values()) {
        const firstLeft = records.slice(0, -1).findIndex(({ at }) => at >= time);
        const expired = firstLeft === -1 ? Math.max(0, records.length - 1) : firstLeft;
        records.splice(0, Math.min(expired, REMOVED_AT_ONCE));
        mayBeMore ||= expired > REMOVED_AT_ONCE;
      }
      return mayBeMore;
    },
  };
}
