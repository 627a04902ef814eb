import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GroupRecord } from '../../src/store/ports/groups.ts';
import type { Json } from '../../src/values/json.ts';
import type { Engine } from '../../src/wiring.ts';
import { altered, withApp } from './app-case.ts';

/** The store, with the members of every group in pieces like those of a large one; counts the open snapshots. */
function inPieces(held: { count: number }) {
  return ({ store }: Engine) => ({
    store: altered(store, {
      groups: {
        async find(project, id): Promise<GroupRecord | null> {
          const group = await store.groups.find(project, id);
          if (group === null) return null;
          held.count += 1;
          return { ...group, members: pieces(group.members as Json, held) };
        },
      },
    }),
  });
}

async function* pieces(members: Json, held: { count: number }): AsyncGenerator<Json> {
  try {
    yield* members;
  } finally {
    held.count -= 1;
  }
}

suite('a group whose members come in pieces', () => {
  const reading = async (method: string, headers: (etag: string) => Record<string, string>) => {
    const held = { count: 0 };
    return await withApp({ disturb: inPieces(held) }, async ({ call }) => {
      await call('PUT', '/v1/users/u', { payload: {} });
      await call('PUT', '/v1/groups/g', { payload: { name: 'G', members: ['u'] } });
      const { headers: first } = await call('GET', '/v1/groups/g');
      const { statusCode, body } = await call(method, '/v1/groups/g', {
        headers: headers(String(first.etag)),
      });
      await new Promise(setImmediate);
      return { statusCode, body, held: held.count };
    });
  };

  test('a group whose members are read in pieces is answered like any other', async () => {
    const { body, held } = await reading('GET', () => ({}));
    const { members, name } = JSON.parse(body);
    assert.deepEqual({ members, name, held }, { members: ['u'], name: 'G', held: 0 });
  });

  test('a group whose members are read in pieces releases its snapshot when the answer is 304', async () => {
    const { statusCode, held } = await reading('GET', (etag) => ({ 'if-none-match': etag }));
    assert.deepEqual({ statusCode, held }, { statusCode: 304, held: 0 });
  });

  test('a group whose members are read in pieces releases its snapshot after a HEAD', async () => {
    const { statusCode, held } = await reading('HEAD', () => ({}));
    assert.deepEqual({ statusCode, held }, { statusCode: 200, held: 0 });
  });
});
