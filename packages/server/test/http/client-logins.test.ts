import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jwt, seconds } from '../support/jwt.ts';
import { altered, withApp } from './app-case.ts';

test('user_details of a client token that another write of the user overtakes are written after it', async () => {
  const overtaking: (() => Promise<void>)[] = [];
  const options: Parameters<typeof withApp>[0] = {
    disturb: ({ store }) => ({
      store: altered(store, {
        users: {
          find: async (project, id) => {
            const user = await store.users.find(project, id);
            await overtaking.shift()?.();
            return user;
          },
        },
      }),
    }),
  };
  await withApp(options, async ({ call, clock }) => {
    const put = (field: string) => async () => {
      const { statusCode } = await call('PUT', '/v1/users/ada', { payload: { [field]: 'of the host' } });
      assert.equal(statusCode, 200);
    };
    // The first creates the user, the second updates it.
    overtaking.push(put('short_name'), put('name'));
    const claims = { project_id: 'wiki', user_id: 'ada', user_details: { name: 'Ada Lovelace' } };
    const token = jwt({ ...claims, iat: seconds(clock.now()) }, 'wiki-secret');
    const viewer = await call('GET', '/v1/client/viewer', { headers: { authorization: `Bearer ${token}` } });
    assert.equal(viewer.statusCode, 200, viewer.body);
    assert.deepEqual(overtaking, []);
    const { name, short_name } = (await call('GET', '/v1/users/ada')).json();
    assert.deepEqual([name, short_name], ['Ada Lovelace', 'of the host']);
  });
});
