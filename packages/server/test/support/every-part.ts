/** Requests that make a server load every part that it loads late: threads, scripts, pages and descriptions. */
import assert from 'node:assert/strict';
import { send } from './http-client.ts';

/** Enough for a batch on a thread, where the engine has threads for large batches. */
const LARGE_BATCH_USERS = 5_000;
/** Enough for a body that is parsed on a thread. */
const LARGE_BODY_PADDING = ' '.repeat(300_000);

/** @param headers of a project without users and groups */
export async function useEveryPart(url: string, headers: Record<string, string>): Promise<void> {
  const request = async (method: string, path: string, body?: string) => {
    const answer = await send(url, method, path, { headers, ...(body !== undefined && { body }) });
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer;
  };
  for (const path of ['/openapi.json', '/asyncapi.json', '/docs', '/metrics', '/readyz'])
    await request('GET', path);
  const users = Array.from({ length: LARGE_BATCH_USERS }, (_, index) => ({ id: `u${index}`, name: 'N' }));
  const groups = [{ id: 'g', name: 'G', members: ['u1'] }];
  await request('POST', '/v1/batch', JSON.stringify({ users, groups }));
  await request('PUT', '/v1/groups/h', `{"name":"H"}${LARGE_BODY_PADDING}`);
  await request('GET', '/v1/groups/g');
  const update = { groupID: 'g', location: { page: 'a' } };
  await request('PUT', '/v1/users/u1/presence', JSON.stringify(update));
  const present = await request('GET', '/v1/groups/g/presence');
  assert.match(present.text, /"u1"/);
}
