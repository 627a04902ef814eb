import assert from 'node:assert/strict';
import type { ChangeList, RecordedChange } from '@rollcall/protocol';
import { expectOk } from './expect.ts';
import type { Project } from './project-client.ts';
import { until } from './waiting.ts';

/** A page of changes. */
export async function changesPage(project: Project, query: Record<string, string> = {}): Promise<ChangeList> {
  return expectOk(await project.get(`/v1/changes?${new URLSearchParams(query)}`));
}

/** All changes after a position, page by page, once there are `count` of them. */
export async function readChanges(
  project: Project,
  count: number,
  query: Record<string, string> = {},
): Promise<RecordedChange[]> {
  const changes: RecordedChange[] = [];
  let { after } = query;
  await until(`${count} changes`, async () => {
    const page = await changesPage(project, { ...query, ...(after === undefined ? {} : { after }) });
    changes.push(...page.changes);
    after = page.next;
    return !page.more && changes.length >= count;
  });
  assert.equal(changes.length, count, JSON.stringify(changes.slice(count)));
  return changes;
}
