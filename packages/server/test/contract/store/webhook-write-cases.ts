/** What writes of webhooks record: all but the attempts, and how far a webhook has come. */
import assert from 'node:assert/strict';
import type { StoredWebhookWrite, WebhookStep } from '../../../src/store/ports/webhooks.ts';
import { orderAll } from '../../support/recorded.ts';
import { START } from './roster.ts';
import type { Write, WriteCases } from './write-cases.ts';

const POSITION = { position: 1, index: 0 };
const OTHER_URL = 'https://x.invalid/';
const LEASE = 'lease';
const DELIVERY = { id: 'd', end: POSITION, body: '{}' };
const ATTEMPT = {
  ...{ webhookId: 'd', at: START, status: 200, error: null },
  ...{ milliseconds: 1, answer: '' },
};

const put =
  (id: string, write: Partial<StoredWebhookWrite> = {}, most = 100): Write =>
  (c) =>
    c.store.webhooks.put(c.key, id, { secret: 's', start: null, ...write }, most, c.next());

const rotate =
  (id: string): Write =>
  (c) =>
    c.store.webhooks.rotateSecret(c.key, id, { secret: 't', previousValidUntil: START }, c.next());

const replay =
  (id: string, start: typeof POSITION | null = POSITION): Write =>
  (c) =>
    c.store.webhooks.replay(c.key, id, start, c.next());

const remove =
  (id: string): Write =>
  (c) =>
    c.store.webhooks.delete(c.key, id, c.next());

const log =
  (id: string): Write =>
  (c) =>
    c.store.webhooks.log(c.key, id, ATTEMPT);

const claim: Write = async ({ store, key }) => {
  await orderAll(store);
  const leases = { now: START, until: START + 1, leases: [LEASE], own: [], hasRepeats: true };
  const claimed = await store.webhookLeases.claim([key], leases);
  assert.deepEqual(
    claimed.map(({ id }) => id),
    ['w'],
  );
};

const advance =
  (step: Partial<WebhookStep>, lease = LEASE): Write =>
  (c) =>
    c.store.webhooks.advance(c.key, 'w', lease, { version: 0, position: 0, ...step }, c.next());

const inOrder =
  (...writes: readonly Write[]): Write =>
  async (c) => {
    for (const write of writes) await write(c);
  };

export const WEBHOOK_CASES: Pick<WriteCases, 'webhooks' | 'webhookLeases'> = {
  webhooks: {
    put: {
      recorded: [
        ['a webhook that is created', put('new', { url: OTHER_URL }), ['webhook.created new']],
        [
          'a webhook that is created paused at a position',
          put('new', { url: OTHER_URL, status: 'paused', start: POSITION }),
          ['webhook.created new'],
        ],
        [
          'an update of every field of a webhook',
          put('w', { url: OTHER_URL, types: ['user.created'], status: 'paused' }),
          ['webhook.updated w url', 'webhook.updated w types', 'webhook.updated w status'],
        ],
        ['other types of a webhook', put('w', { types: ['member.*'] }), ['webhook.updated w types']],
        [
          'a failing webhook that is set active',
          put('w', { status: 'active' }),
          ['webhook.updated w status'],
          inOrder(claim, advance({ isFailing: true })),
        ],
      ],
      unrecorded: [
        ['a webhook without a field', put('w'), 'unchanged'],
        [
          'the same fields of a webhook',
          put('w', { url: 'https://w.invalid/', types: null, status: 'active' }),
          'unchanged',
        ],
        [
          'the same types of a webhook',
          put('w', { types: ['member.*'] }),
          'unchanged',
          put('w', { types: ['member.*'] }),
        ],
        ['a new webhook without a URL', put('new'), 'urlRequired'],
        ['one webhook too many', put('new', { url: OTHER_URL }, 1), 'full'],
      ],
    },
    rotateSecret: {
      recorded: [['a new secret of a webhook', rotate('w'), ['webhook.secret_rotated w']]],
      unrecorded: [['a new secret of a webhook that is not there', rotate('none'), 'absent']],
    },
    replay: {
      recorded: [
        ['a replay from a position', replay('w'), ['webhook.replayed w']],
        ['a replay from the newest position', replay('w', null), ['webhook.replayed w']],
        [
          'a replay of a webhook with a delivery',
          replay('w'),
          ['webhook.replayed w'],
          inOrder(claim, advance({ next: DELIVERY })),
        ],
      ],
      unrecorded: [
        ['a replay of a webhook that is not there', replay('none'), 'absent'],
        ['a replay from the newest position of a webhook that is not there', replay('none', null), 'absent'],
      ],
    },
    delete: {
      recorded: [['a webhook that is removed', remove('w'), ['webhook.removed w']]],
      unrecorded: [['a deletion of a webhook that is not there', remove('none'), 'absent']],
    },
    log: {
      unrecorded: [
        ['an attempt that is logged', log('w'), null],
        ['an attempt of a webhook that is not there', log('none'), null],
      ],
    },
    advance: {
      recorded: [
        [
          'a webhook that is failing',
          advance({ attempt: ATTEMPT, isFailing: true }),
          ['webhook.updated w status'],
          claim,
        ],
      ],
      unrecorded: [
        ['a webhook that moves', advance({ moved: POSITION }), 'updated', claim],
        ['a delivery that is fixed', advance({ next: DELIVERY }), 'updated', claim],
        [
          'a delivery that is acknowledged',
          advance({ attempt: ATTEMPT, acknowledged: true }),
          'updated',
          inOrder(claim, advance({ next: DELIVERY })),
        ],
        [
          'a delivery that failed and is repeated',
          advance({ attempt: ATTEMPT, failed: { dueAt: START, since: START } }),
          'updated',
          inOrder(claim, advance({ next: DELIVERY })),
        ],
        ['a lease that ends', advance({ isReleased: true }), 'updated', claim],
        ['a step with a lease that has ended', advance({ isFailing: true }, 'other'), 'unchanged', claim],
      ],
    },
  },
  webhookLeases: {
    claim: { unrecorded: [['a webhook that is claimed', claim, null]] },
    renew: {
      unrecorded: [
        [
          'a lease that is renewed',
          ({ store, key }) => store.webhookLeases.renew([{ project: key, id: 'w', lease: LEASE }], START + 2),
          null,
          claim,
        ],
      ],
    },
  },
};
