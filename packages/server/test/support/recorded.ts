import type { ChangeRecord } from '../../src/store/ports/changes.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';

type Changes = Pick<Store, 'changes'>;

/** Gives positions to everything that is committed. */
export async function orderAll({ changes }: Changes): Promise<void> {
  while ((await changes.order([])).hasMore);
}

/** What is recorded of a project after a position. */
export async function recordsAfter(
  store: Changes,
  project: ProjectKey,
  after = 0,
  limit = 10_000,
): Promise<readonly ChangeRecord[]> {
  await orderAll(store);
  const found: ChangeRecord[] = [];
  for (let position = after; found.length < limit; position = found.at(-1)?.position ?? 0) {
    const { records } = await store.changes.read(project, position, limit - found.length);
    if (records.length === 0) break;
    found.push(...records);
  }
  return found;
}
