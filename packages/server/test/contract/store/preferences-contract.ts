import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NotificationChannels } from '@rollcall/protocol';
import { CONTEXT } from '../../support/origin.ts';
import type { StoreLab } from './store-lab.ts';

export function preferencesContract(lab: StoreLab): void {
  test('every notification channel is on until it is set', async () => {
    const roster = await lab.projectWithUsers('ann');
    assert.deepEqual(await lab.store.preferences.find(roster.key, 'ann'), {
      sendViaMessenger: true,
      sendViaEmail: true,
    });
  });

  test('a write of preferences does not change a channel that is not supplied', async () => {
    const roster = await lab.projectWithUsers('ann');
    const steps: [NotificationChannels, Required<NotificationChannels>][] = [
      [{ sendViaMessenger: false }, { sendViaMessenger: false, sendViaEmail: true }],
      [{ sendViaEmail: false }, { sendViaMessenger: false, sendViaEmail: false }],
      [{ sendViaMessenger: true }, { sendViaMessenger: true, sendViaEmail: false }],
      [{}, { sendViaMessenger: true, sendViaEmail: false }],
      [
        { sendViaMessenger: false, sendViaEmail: true },
        { sendViaMessenger: false, sendViaEmail: true },
      ],
    ];
    for (const [write, expected] of steps) {
      const { kind } = await lab.store.preferences.put(roster.key, 'ann', write, CONTEXT);
      assert.equal(kind, Object.keys(write).length === 0 ? 'unchanged' : 'updated');
      assert.deepEqual(await lab.store.preferences.find(roster.key, 'ann'), expected);
    }
  });

  test('racing writes of different notification channels are both stored', async () => {
    const roster = await lab.projectWithUsers('ann');
    await Promise.all([
      lab.store.preferences.put(roster.key, 'ann', { sendViaMessenger: false }, CONTEXT),
      lab.store.preferences.put(roster.key, 'ann', { sendViaEmail: false }, CONTEXT),
    ]);
    assert.deepEqual(await lab.store.preferences.find(roster.key, 'ann'), {
      sendViaMessenger: false,
      sendViaEmail: false,
    });
  });

  test('the preferences of one user do not change those of another', async () => {
    const roster = await lab.projectWithUsers('ann', 'bob');
    await lab.store.preferences.put(roster.key, 'ann', { sendViaMessenger: false }, CONTEXT);
    assert.deepEqual(await lab.store.preferences.find(roster.key, 'bob'), {
      sendViaMessenger: true,
      sendViaEmail: true,
    });
  });

  test('a user of either status has preferences', async () => {
    const roster = await lab.project();
    await roster.putUser('ann', { status: 'deleted' });
    const { kind } = await lab.store.preferences.put(roster.key, 'ann', { sendViaEmail: false }, CONTEXT);
    assert.equal(kind, 'updated');
    assert.equal((await lab.store.preferences.find(roster.key, 'ann'))?.sendViaEmail, false);
  });

  test('preferences of a user who does not exist are null, and writing them is absent', async () => {
    const roster = await lab.project();
    assert.equal(await lab.store.preferences.find(roster.key, 'nobody'), null);
    const { kind } = await lab.store.preferences.put(roster.key, 'nobody', { sendViaEmail: false }, CONTEXT);
    assert.equal(kind, 'absent');
    assert.equal(await lab.store.users.find(roster.key, 'nobody'), null);
  });

  test('other writes of a user do not change the preferences', async () => {
    const roster = await lab.projectWithUsers('ann');
    await lab.store.preferences.put(roster.key, 'ann', { sendViaEmail: false }, CONTEXT);
    await roster.putUser('ann', { name: 'Ann' });
    await roster.applied({ users: [{ id: 'ann', name: 'Anna' }] });
    assert.deepEqual(await lab.store.preferences.find(roster.key, 'ann'), {
      sendViaMessenger: true,
      sendViaEmail: false,
    });
  });
}
