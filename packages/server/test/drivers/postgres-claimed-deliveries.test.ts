/** A webhook that is claimed while its former holder, whose lease has ended, goes on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRoster } from '../contract/store/roster.ts';
import { CONTEXT } from '../support/origin.ts';
import { skipsPostgres, withClient } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { withPostgresStores } from './postgres-stores.ts';

/** The key of the lock that a claim waits for after it has read the webhooks, and before it locks any. */
const GATE = 77;
const CLOSE = `
  ALTER TABLE change_heads RENAME TO actual_heads;
  CREATE FUNCTION pass() RETURNS boolean VOLATILE LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(${GATE}); RETURN TRUE; END $$;
  CREATE VIEW change_heads AS SELECT * FROM actual_heads WHERE pass()`;

test(
  'a delivery that its former holder has replaced meanwhile is not claimed with the body of the one before',
  {
    skip: skipsPostgres,
  },
  () =>
    withPostgresStores(2, async ([store, other], url) => {
      if (store === undefined || other === undefined) return;
      const { key } = await newRoster(store);
      const write = { url: 'https://a.invalid/', secret: 's', start: { position: 0, index: 0 } };
      await store.webhooks.put(key, 'w', write, 3, CONTEXT);
      await store.projects.rename(key, 'Renamed', CONTEXT);
      while ((await store.changes.order([key])).hasMore);
      const claim = (of: typeof store, lease: string, now: number) =>
        of.webhookLeases.claim([key], { now, until: now + 6, leases: [lease], own: [], hasRepeats: true });
      const deliveryOf = (id: string, index: number) => ({
        id,
        body: `body of ${id}`,
        end: { position: 1, index },
      });
      const step = { version: 0, position: 0 };
      assert.equal((await claim(store, 'former', 10)).length, 1);
      await store.webhooks.advance(key, 'w', 'former', { ...step, next: deliveryOf('d1', 0) }, CONTEXT);
      await withClient(url, async (gate) => {
        await gate.query(CLOSE);
        await gate.query(`SELECT pg_advisory_lock(${GATE})`);
        const claimed = claim(other, 'later', 20);
        await untilWaiting(url, 1);
        const next = { ...step, acknowledged: true as const, next: deliveryOf('d2', 1) };
        await store.webhooks.advance(key, 'w', 'former', next, CONTEXT);
        await gate.query(`SELECT pg_advisory_unlock(${GATE})`);
        const all = [...(await claimed), ...(await claim(other, 'last', 30))];
        assert.equal(all.at(-1)?.delivery?.id, 'd2');
        for (const { delivery } of all) assert.equal(delivery?.body, `body of ${delivery?.id}`);
      });
    }),
);
