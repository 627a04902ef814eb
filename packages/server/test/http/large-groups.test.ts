import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GroupRecord } from '../../src/store/ports/groups.ts';
import type { Json } from '../../src/values/json.ts';
import type { Engine } from '../../src/wiring.ts';
import { altered, withApp } from './app-case.ts';

/** The store with the members of every group in pieces, as of a large group; counts the open snapshots. */
function inPieces(snapshots: { open: number }) {
  return ({ store }: Engine) => ({
    store: altered(store, {
      groups: {
        async find(project, id): Promise<GroupRecord | null> {
          const group = await store.groups.find(project, id);
          if (group === null) return null;
          const members = pieces(group.members as Json, snapshots);
          // As the engines do: `return()` of a generator that has not begun would release nothing.
          await members.next();
          return { ...group, members };
        },
      },
    }),
  });
}

async function* pieces(members: Json, snapshots: { open: number }): AsyncGenerator<Json> {
  snapshots.open += 1;
  try {
    yield '';
    yield* members;
  } finally {
    snapshots.open -= 1;
  }
}

suite('a group whose members come in pieces', () => {
  const reading = async (method: string, headers: (etag: string) => Record<string, string>) => {
    const snapshots = { open: 0 };
    return await withApp({ disturb: inPieces(snapshots) }, async ({ call }) => {
      await call('PUT', '/v1/users/u', { payload: {} });
      await call('PUT', '/v1/groups/g', { payload: { name: 'G', members: ['u'] } });
      const { headers: first } = await call('GET', '/v1/groups/g');
      const { statusCode, body } = await call(method, '/v1/groups/g', {
        headers: headers(String(first.etag)),
      });
      await new Promise(setImmediate);
      return { statusCode, body, open: snapshots.open };
    });
  };

  test('a group whose members are read in pieces is answered like any other', async () => {
    const { body, open } = await reading('GET', () => ({}));
    const { members, name } = JSON.parse(body);
    assert.deepEqual({ members, name, open }, { members: ['u'], name: 'G', open: 0 });
  });

  test('a group whose members are read in pieces releases its snapshot when the answer is 304', async () => {
    const { statusCode, open } = await reading('GET', (etag) => ({ 'if-none-match': etag }));
    assert.deepEqual({ statusCode, open }, { statusCode: 304, open: 0 });
  });

  test('a group whose members are read in pieces releases its snapshot after a HEAD', async () => {
    const { statusCode, open } = await reading('HEAD', () => ({}));
    assert.deepEqual({ statusCode, open }, { statusCode: 200, open: 0 });
  });
});
