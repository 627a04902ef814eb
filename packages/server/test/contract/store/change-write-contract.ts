import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORE_WRITES } from '../../../src/store/store.ts';
import { recordsAfter } from '../../support/recorded.ts';
import { BATCH_CASES } from './batch-write-cases.ts';
import type { Conversation } from './conversation.ts';
import { CONVERSATION_CASES } from './conversation-write-cases.ts';
import { changesOf, changeTexts } from './entries.ts';
import { PROJECT_CASES } from './project-write-cases.ts';
import { newest } from './recorded-changes.ts';
import { ROSTER_CASES } from './roster-write-cases.ts';
import type { StoreLab } from './store-lab.ts';
import { WEBHOOK_CASES } from './webhook-write-cases.ts';
import {
  Caller,
  type Recorded,
  stockOf,
  stockWithWebhook,
  type Unrecorded,
  type WriteCases,
} from './write-cases.ts';

const CASES: WriteCases = {
  ...PROJECT_CASES,
  ...ROSTER_CASES,
  ...BATCH_CASES,
  ...CONVERSATION_CASES,
  ...WEBHOOK_CASES,
};

interface Cases {
  readonly recorded?: readonly Recorded[];
  readonly unrecorded: readonly Unrecorded[];
}

const PORTS = Object.keys(STORE_WRITES) as (keyof WriteCases)[];
const isOfWebhooks = (port: keyof WriteCases): boolean => port in WEBHOOK_CASES;

/** The cases of every write that the ports have. */
const casesOf = (ports: readonly (keyof WriteCases)[]): Cases[] =>
  ports.flatMap((port) => {
    const ofPort = CASES[port] as Readonly<Record<string, Cases>>;
    return STORE_WRITES[port].map((name) => ofPort[name] ?? assert.fail(`${port}.${name} has cases`));
  });

/** What every write records, but those of webhooks. */
export const changeWriteContract = (lab: StoreLab): void =>
  changesContract(() => stockOf(lab), casesOf(PORTS.filter((port) => !isOfWebhooks(port))));

export const webhookChangeContract = (lab: StoreLab): void =>
  changesContract(() => stockWithWebhook(lab), casesOf(PORTS.filter(isOfWebhooks)));

function changesContract(makeStock: () => Promise<Conversation>, cases: readonly Cases[]): void {
  const allRecorded = cases.flatMap(({ recorded = [] }) => recorded);
  const allUnrecorded = cases.flatMap(({ unrecorded }) => unrecorded);

  /** The outcome of a write, its caller, and what was recorded since it began. */
  async function outcomeOf([, write, , prepare]: Recorded | Unrecorded) {
    const stock = await makeStock();
    await prepare?.(stock);
    const before = await newest(stock);
    const caller = new Caller(stock, 'one write');
    const outcome = await write(caller);
    return { caller, outcome, records: await recordsAfter(stock.store, stock.key, before) };
  }

  for (const each of allRecorded) {
    const [what, , expected] = each;
    test(`changes of ${what} are in the outcome, and the same are recorded with the time, the actor and the request`, async () => {
      const { caller, outcome, records } = await outcomeOf(each);
      const changes = changesOf(outcome as object);
      assert.deepEqual(
        records.flatMap((record) => changeTexts(record.changes)),
        changes,
      );
      const { now: at, actor, requestId } = caller.last;
      for (const { position: _p, changes: _c, ...origin } of records)
        assert.deepEqual(origin, { at, actor, requestId });
      // In a batch, the order of different users and groups is the driver's choice.
      if ('users' in (outcome as object)) assert.deepEqual(changes.sort(), [...expected].sort());
      else assert.deepEqual(changes, expected);
    });
  }

  for (const each of allUnrecorded) {
    const [what, , kind] = each;
    test(`no change is recorded of ${what}`, async () => {
      const { outcome, records } = await outcomeOf(each);
      assert.deepEqual(records, []);
      const { kind: actual = null, changes = [] } = Object(outcome);
      assert.deepEqual([actual, changes], [kind, []]);
    });
  }

  test('writes of different callers that are sent at once are each recorded with their own actor and request', async () => {
    const stock = await makeStock();
    const before = await newest(stock);
    const writes = allRecorded.filter(([, , , prepare]) => prepare === undefined);
    const expected = await Promise.all(
      writes.map(async ([what, write]) => {
        const caller = new Caller(stock, what);
        const outcome = (await write(caller)) as object;
        const { actor, requestId } = caller.last;
        const changes = 'changes' in outcome ? changesOf(outcome) : [];
        return changes.map((change) => ({ actor, requestId, change }));
      }),
    );
    const records = await recordsAfter(stock.store, stock.key, before);
    const recorded = records.flatMap(({ actor, requestId, changes }) =>
      changeTexts(changes).map((change) => ({ actor, requestId, change })),
    );
    // Each write has a request of its own. The order of different writes is that of their commits.
    const byRequest = (all: typeof recorded) => Object.groupBy(all, ({ requestId }) => `${requestId}`);
    assert.deepEqual({ ...byRequest(recorded) }, { ...byRequest(expected.flat()) });
  });
}
