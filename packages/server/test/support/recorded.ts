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
  return (await store.changes.read(project, after, limit)).records;
}
