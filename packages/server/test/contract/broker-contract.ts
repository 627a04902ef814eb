/**
 * The Broker's contract as a library: an engine's test file calls {@link brokerContract} with a way to make brokers, and
 * every rule of broker/broker.ts becomes a test of that engine. No test depends on an engine.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Broker, Notification, Subject } from '../../src/broker/broker.ts';
import { until } from '../support/waiting.ts';

/** Two handles on one engine without subscribers: the same handle twice where the engine lives in one process. */
export type MakeBrokers = () => Promise<readonly [Broker, Broker]>;

const project = (projectId: string): Notification => ({ type: 'project', projectId });
const session = (sessionId: string): Notification => ({ type: 'session', sessionId });
const CHANGES = Array.from({ length: 200 }, (_, index) => project(`p${index}`));

/** A subscriber that records the changes it gets, and can wait for them. */
class Listener {
  readonly changes: Notification[] = [];
  readonly end: () => void;
  #waiting: { count: number; done: () => void } | null = null;

  constructor(broker: Broker) {
    this.end = broker.subscribe((change) => {
      this.changes.push(change);
      if (this.#waiting !== null && this.changes.length >= this.#waiting.count) this.#waiting.done();
    });
  }

  async received(count: number): Promise<Notification[]> {
    if (this.changes.length < count) await new Promise<void>((done) => (this.#waiting = { count, done }));
    return this.changes;
  }
}

/** Registers the whole contract as a suite called `name`; every test has an engine of its own. */
export function brokerContract(name: string, makeBrokers: MakeBrokers): void {
  const rule = (sentence: string, body: (publisher: Broker, other: Broker) => Promise<void>) =>
    void test(sentence, async () => {
      const [publisher, other] = await makeBrokers();
      try {
        await body(publisher, other);
      } finally {
        await publisher.close();
        await other.close();
      }
    });

  describe(`the Broker contract: ${name}`, () => {
    describe('delivery', () => deliveryRules(rule));
    describe('subscriptions', () => subscriptionRules(rule));
    describe('subjects', () => subjectRules(rule));
  });
}

type Rule = (sentence: string, body: (publisher: Broker, other: Broker) => Promise<void>) => void;

function deliveryRules(rule: Rule): void {
  rule('every subscriber gets every change whole, on every process', async (publisher, other) => {
    const listeners = [new Listener(publisher), new Listener(publisher), new Listener(other)];
    const changes = [project('p'), session('s'), project('{"\u{1f600} \\')];
    for (const change of changes) await publisher.publish(change);
    for (const listener of listeners) assert.deepEqual(await listener.received(changes.length), changes);
  });

  rule(
    'on the publishing process, subscribers have been called when `publish` resolves',
    async (publisher) => {
      const listener = new Listener(publisher);
      await publisher.publish(project('p'));
      assert.deepEqual(listener.changes, [project('p')]);
    },
  );

  rule('the changes of one publisher come in the order of publishing', async (publisher, other) => {
    const listeners = [new Listener(publisher), new Listener(other)];
    await Promise.all(CHANGES.map((change) => publisher.publish(change)));
    for (const listener of listeners) assert.deepEqual(await listener.received(CHANGES.length), CHANGES);
  });

  rule(
    'a change that a listener publishes is delivered after the one that it received, on every process',
    async (publisher, other) => {
      const answered: Promise<void>[] = [];
      publisher.subscribe((change) => {
        if (change.type === 'project') answered.push(publisher.publish(session(change.projectId)));
      });
      const listeners = [new Listener(publisher), new Listener(other)];
      await publisher.publish(project('a'));
      await Promise.all(answered);
      const inOrder = [project('a'), session('a')];
      for (const listener of listeners) assert.deepEqual(await listener.received(2), inOrder);
    },
  );

  rule(
    'a listener that throws affects neither other listeners nor the publisher',
    async (publisher, other) => {
      const before = new Listener(publisher);
      publisher.subscribe(() => {
        throw new Error('this listener always throws, on purpose');
      });
      const listeners = [before, new Listener(publisher), new Listener(other)];
      await publisher.publish(project('a'));
      await publisher.publish(project('b'));
      for (const listener of listeners)
        assert.deepEqual(await listener.received(2), [project('a'), project('b')]);
    },
  );
}

function subscriptionRules(rule: Rule): void {
  rule('a listener gets no change from before its subscription', async (publisher) => {
    await publisher.publish(project('early'));
    const listener = new Listener(publisher);
    await publisher.publish(project('p'));
    assert.deepEqual(await listener.received(1), [project('p')]);
  });

  rule(
    'a listener is called until the returned function is; calling that again does nothing',
    async (publisher) => {
      const [staying, leaving] = [new Listener(publisher), new Listener(publisher)];
      await publisher.publish(project('a'));
      leaving.end();
      leaving.end();
      await publisher.publish(project('b'));
      assert.deepEqual(staying.changes, [project('a'), project('b')]);
      assert.deepEqual(leaving.changes, [project('a')]);
    },
  );

  rule('a listener that another one ends is not called any more', async (publisher) => {
    const ends: (() => void)[] = [];
    publisher.subscribe(() => {
      for (const end of ends) end();
    });
    const ended = new Listener(publisher);
    ends.push(ended.end);
    await publisher.publish(project('a'));
    assert.deepEqual(ended.changes, []);
  });

  rule('one function subscribed twice is two subscriptions', async (publisher) => {
    let calls = 0;
    const listener = () => {
      calls += 1;
    };
    const ends = [publisher.subscribe(listener), publisher.subscribe(listener)];
    await publisher.publish(project('a'));
    assert.equal(calls, 2);
    ends[0]?.();
    await publisher.publish(project('b'));
    assert.equal(calls, 3);
  });

  rule('closing ends all subscriptions, and closing twice is closing once', async (publisher) => {
    const listener = new Listener(publisher);
    await publisher.ping();
    await publisher.publish(project('a'));
    await publisher.close();
    await publisher.close();
    // Whether a closed broker takes a change is up to the engine.
    await publisher.publish(project('b')).catch(() => {});
    assert.deepEqual(listener.changes, [project('a')]);
  });
}

/** Changes of each type that has subjects. In a cluster, the part of the name in braces puts them on one node. */
const OF_SUBJECTS: readonly ((name: string, number: number) => Notification & Subject)[] = [
  (name, number) => ({
    type: 'conversation',
    project: 'p',
    groupId: `${name}{group}`,
    threadId: `${number}`,
  }),
  (name, number) => ({ type: 'eligibility', project: `${name}{project}`, userIds: [`${number}`] }),
  (name, position) => ({ type: 'changes', project: `${name}{project}`, position }),
];

/** Publishes a change until another process gets it: that process followed its subject a moment ago. */
async function publishUntilReceived(
  publisher: Broker,
  change: Notification,
  { changes }: Listener,
): Promise<void> {
  await until('the change', async () => {
    await publisher.publish(change);
    return changes.some((each) => isDeepStrictEqual(each, change));
  });
}

function subjectRules(rule: Rule): void {
  for (const of of OF_SUBJECTS) {
    const { type } = of('', 0);
    rule(
      `a change of type ${type} is received where its subject is followed, once, and on no other process`,
      async (publisher, other) => {
        const listener = new Listener(other);
        const ends = [other.follow(of('followed', 0)), other.follow(of('followed', 0))];
        for (const _ of [1, 2]) other.follow(of('ended', 0))();
        await publishUntilReceived(publisher, of('followed', 1), listener);
        // Ended twice is ended once, and the other one goes on.
        for (const _ of [1, 2]) ends[0]?.();
        for (const name of ['ended', 'elsewhere', 'followed']) await publisher.publish(of(name, 2));
        await publishUntilReceived(publisher, of('followed', 3), listener);
        const received = listener.changes.filter((change) => isDeepStrictEqual(change, of('followed', 2)));
        assert.equal(received.length, 1);
        if (publisher === other) return;
        other.follow(of('last', 0));
        ends[1]?.();
        await publisher.publish(of('followed', 4));
        await publishUntilReceived(publisher, of('last', 5), listener);
        const names = listener.changes.map((change) => JSON.stringify(change));
        for (const change of [of('ended', 2), of('elsewhere', 2), of('followed', 4)])
          assert.ok(!names.includes(JSON.stringify(change)), JSON.stringify(change));
      },
    );
  }

  rule('a subject that is followed again at once is received', async (publisher, other) => {
    const listener = new Listener(other);
    for (const _ of [1, 2, 3]) other.follow({ type: 'changes', project: 'p' })();
    other.follow({ type: 'changes', project: 'p' });
    await publishUntilReceived(publisher, { type: 'changes', project: 'p', position: 1 }, listener);
  });

  rule('what a process publishes reaches its own subscribers, whatever they follow', async (publisher) => {
    const listener = new Listener(publisher);
    const changes = OF_SUBJECTS.map((of) => of('own', 1));
    publisher.follow(changes[0] as Subject);
    for (const change of changes) await publisher.publish(change);
    assert.deepEqual(listener.changes, changes);
  });
}
