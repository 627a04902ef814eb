/** The leases of one process: each webhook has its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangeStore } from '../../src/store/ports/changes.ts';
import type { WebhookLeaseStore, WebhookStore } from '../../src/store/ports/webhooks.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { Engine } from '../../src/wiring.ts';
import { type AppCase, altered, withApp } from '../http/app-case.ts';
import { closing } from '../support/closing.ts';
import { CONTEXT } from '../support/origin.ts';
import { until } from '../support/waiting.ts';
import { ALLOWED, WebhookReceiver } from '../support/webhook-receiver.ts';

const SWEEP_MS = 2_000;
/** Sweeps in the time of a lease that is not renewed. */
const LEASE_SWEEPS = 3;

/** The engine with other methods for the deliveries of webhooks. */
const withMethods = (
  { store }: Engine,
  webhooks: Partial<WebhookStore>,
  webhookLeases: Partial<WebhookLeaseStore>,
) => ({ store: altered(store, { webhooks, webhookLeases }) });

/** Webhooks `v` and `w` that are leased by one claim, since the clock does not move meanwhile. */
async function leaseBoth({ engine, clock, project, call }: AppCase, urls: Record<'v' | 'w', string>) {
  for (const [id, url] of Object.entries(urls)) {
    const write = { url, types: ['user.*'], secret: 'whsec_c2VjcmV0', start: { position: 0, index: 0 } };
    await engine.store.webhooks.put(project, id, write, 10, CONTEXT);
  }
  await call('PUT', '/v1/users/ada', { payload: {} });
  await until('the change has its position', async () => {
    await engine.store.changes.order([project]);
    return (await engine.store.changes.read(project, 0, 10)).records.length === 3;
  });
  clock.move(SWEEP_MS);
}

test('a webhook that is given up is claimed again after its lease, while another one of its claim is leased', async () => {
  await using hanging = closing(await WebhookReceiver.open());
  await using healthy = closing(await WebhookReceiver.open());
  hanging.answer = () => {};
  const claims: string[][] = [];
  let sweeps = 0;
  const failed = Promise.withResolvers<void>();
  let isAway = true;
  const disturb = (engine: Engine) => {
    const { webhooks, webhookLeases } = engine.store;
    return withMethods(
      engine,
      {
        advance: async (...parameters) => {
          if (parameters[1] !== 'v' || !isAway) return webhooks.advance(...parameters);
          isAway = false;
          failed.resolve();
          throw new StoreUnavailableError('the store is away');
        },
      },
      {
        claim: async (...parameters) => {
          const claimed = await webhookLeases.claim(...parameters);
          if (claimed.length > 0) claims.push(claimed.map(({ id }) => id).sort());
          return claimed;
        },
        renew: async (...parameters) => {
          const renewed = await webhookLeases.renew(...parameters);
          sweeps += 1;
          return renewed;
        },
      },
    );
  };
  await withApp({ disturb, settings: { webhooksAllow: ALLOWED } }, async (app) => {
    await leaseBoth(app, { v: healthy.url, w: hanging.url });
    await Promise.all([hanging.requests(1), failed.promise]);
    assert.deepEqual(claims, [['v', 'w']]);
    for (let sweep = 1; sweep <= LEASE_SWEEPS; sweep += 1) {
      app.clock.move(SWEEP_MS);
      await until('the sweep', () => sweeps === sweep);
    }
    await healthy.requests(1);
    assert.deepEqual(claims, [['v', 'w'], ['v']]);
    assert.equal(hanging.received.length, 1);
  });
});

test('a webhook that another process has leased is sent nothing more, and the others of its claim are', async () => {
  await using v = closing(await WebhookReceiver.open());
  await using w = closing(await WebhookReceiver.open());
  const receivers = { v, w };
  const ended: string[] = [];
  for (const [id, receiver] of Object.entries(receivers))
    receiver.answer = (response) => response.once('close', () => ended.push(id));
  await withApp({ settings: { webhooksAllow: ALLOWED } }, async (app) => {
    const { engine, clock, project } = app;
    await leaseBoth(app, { v: v.url, w: w.url });
    await Promise.all([v, w].map((receiver) => receiver.requests(1)));
    const now = clock.now() + 60_000;
    const claim = { now, until: now + 60_000, leases: ['other'], own: [], hasRepeats: true };
    const [taken] = await engine.store.webhookLeases.claim([project], claim);
    clock.move(SWEEP_MS);
    await until('the end of an attempt', () => ended.length > 0);
    assert.deepEqual(ended, [taken?.id]);
  });
});

/** Changes in the record, of which each reading of a search has one. */
const RECORDED = 100;
/** The readings of a search before the webhook stores how far it has come. */
const READINGS = 20;

test('a webhook that another process has leased searches the record no further', async () => {
  const resumed = Promise.withResolvers<void>();
  let readings = 0;
  let sweeps = 0;
  const disturb = ({ store }: Engine) => {
    const changes: Partial<ChangeStore> = {
      read: async (project, after, limit) => {
        if (limit > 1) readings += 1;
        if (readings === READINGS + 1) await resumed.promise;
        return store.changes.read(project, after, Math.min(limit, 1));
      },
    };
    const webhookLeases: Partial<WebhookLeaseStore> = {
      renew: async (...parameters) => {
        const renewed = await store.webhookLeases.renew(...parameters);
        sweeps += 1;
        return renewed;
      },
    };
    return { store: altered(store, { changes, webhookLeases }) };
  };
  await withApp(
    { disturb, settings: { webhooksAllow: ALLOWED } },
    async ({ engine, clock, project, call }) => {
      const start = { position: 0, index: 0 };
      const write = { url: 'http://127.0.0.1/', types: ['group.*'], secret: 'whsec_c2VjcmV0', start };
      await engine.store.webhooks.put(project, 'w', write, 10, CONTEXT);
      for (let user = 1; user < RECORDED; user += 1) await call('PUT', `/v1/users/${user}`, { payload: {} });
      clock.move(SWEEP_MS);
      await until('the search', () => readings > READINGS);
      const now = clock.now() + 60_000;
      const claim = { now, until: now + 60_000, leases: ['other'], own: [], hasRepeats: true };
      assert.equal((await engine.store.webhookLeases.claim([project], claim)).length, 1);
      clock.move(SWEEP_MS);
      await until('the sweep', () => sweeps > 0);
      resumed.resolve();
      await until('the end of the lease', async () =>
        /^rollcall_webhooks_leased 0$/m.test((await call('GET', '/metrics')).payload),
      );
      assert.equal(readings, 2 * READINGS);
    },
  );
});
