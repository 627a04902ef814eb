import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NotificationChannels } from '@rollcall/protocol';
import type { StoreLab } from './store-lab.ts';

export function preferencesContract(lab: StoreLab): void {
  test('every channel is on until it is set', async () => {
    const roster = await lab.project();
    await roster.users('ann');
    assert.deepEqual(await lab.store.findPreferences(roster.key, 'ann'), {
      sendViaMessenger: true,
      sendViaEmail: true,
    });
  });

  test('a write merges: a channel that is not supplied keeps its value', async () => {
    const roster = await lab.project();
    await roster.users('ann');
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
      assert.equal(await lab.store.putPreferences(roster.key, 'ann', write), true);
      assert.deepEqual(await lab.store.findPreferences(roster.key, 'ann'), expected);
    }
  });

  test('racing writes of different channels both stay', async () => {
    const roster = await lab.project();
    await roster.users('ann');
    await Promise.all([
      lab.store.putPreferences(roster.key, 'ann', { sendViaMessenger: false }),
      lab.store.putPreferences(roster.key, 'ann', { sendViaEmail: false }),
    ]);
    assert.deepEqual(await lab.store.findPreferences(roster.key, 'ann'), {
      sendViaMessenger: false,
      sendViaEmail: false,
    });
  });

  test("one user's preferences are not another's", async () => {
    const roster = await lab.project();
    await roster.users('ann', 'bob');
    await lab.store.putPreferences(roster.key, 'ann', { sendViaMessenger: false });
    assert.deepEqual(await lab.store.findPreferences(roster.key, 'bob'), {
      sendViaMessenger: true,
      sendViaEmail: true,
    });
  });

  test('a user of either status has preferences', async () => {
    const roster = await lab.project();
    await roster.putUser('ann', { status: 'deleted' });
    assert.equal(await lab.store.putPreferences(roster.key, 'ann', { sendViaEmail: false }), true);
    assert.equal((await lab.store.findPreferences(roster.key, 'ann'))?.sendViaEmail, false);
  });

  test('preferences of a user who is not there are null, and writing them is false', async () => {
    const roster = await lab.project();
    assert.equal(await lab.store.findPreferences(roster.key, 'nobody'), null);
    assert.equal(await lab.store.putPreferences(roster.key, 'nobody', { sendViaEmail: false }), false);
    assert.equal(await lab.store.findUser(roster.key, 'nobody'), null);
  });

  test('other writes of the user leave the preferences', async () => {
    const roster = await lab.project();
    await roster.users('ann');
    await lab.store.putPreferences(roster.key, 'ann', { sendViaEmail: false });
    await roster.putUser('ann', { name: 'Ann' });
    await roster.applied({ users: [{ id: 'ann', name: 'Anna' }] });
    assert.deepEqual(await lab.store.findPreferences(roster.key, 'ann'), {
      sendViaMessenger: true,
      sendViaEmail: false,
    });
  });
}
