/** The following part of many processes in one: each has connections to Redis, a reader of the record and hubs of its own. */
import { pino } from 'pino';
import { openRedisBroker } from '../packages/server/src/broker/redis/redis-broker.ts';
import { RecordFollower } from '../packages/server/src/core/changes/record-follower.ts';
import { systemClock } from '../packages/server/src/core/clock.ts';
import { PageTokens } from '../packages/server/src/core/page-token.ts';
import { openRedisPresence } from '../packages/server/src/presence/redis/redis-presence.ts';
import { ConversationHub } from '../packages/server/src/realtime/conversation/conversation-hub.ts';
import { PresenceHub } from '../packages/server/src/realtime/feed/presence-hub.ts';
import { Beginnings } from '../packages/server/src/realtime/sessions/beginnings.ts';
import { SseSink } from '../packages/server/src/realtime/sessions/sse-sink.ts';
import { openPostgresStore } from '../packages/server/src/store/postgres/postgres-store.ts';
import type { Store } from '../packages/server/src/store/store.ts';
import { SimulatedSink } from '../packages/server/test/realtime/simulated-sink.ts';
import { BY_TEST } from '../packages/server/test/support/origin.ts';
import { PROJECT } from './credentials.ts';

/** What all followers together did. */
export interface Followed {
  /** Calls of the Store, each of one statement or a few. */
  calls: number;
  /** Records of changes that were read. */
  records: number;
  /** Messages of the Broker that were received from other processes. */
  messages: number;
  /** Events that readers received. */
  events: number;
}

export interface Followers extends AsyncDisposable {
  /** Since the last call. */
  take(): Followed;
}

const log = pino({ level: 'silent' });

/** Opens followers; each has a reader of the group's presence, of its threads and of the messages of one. */
export async function openFollowers(
  urls: { readonly databaseUrl: string; readonly redisUrl: string },
  count: number,
  { groupId, threadId }: { readonly groupId: string; readonly threadId: string },
): Promise<Followers> {
  await using opened = new AsyncDisposableStack();
  const counts = { calls: 0, records: 0, messages: 0 };
  const sinks: SimulatedSink[] = [];
  const real = opened.adopt(await openPostgresStore({ url: urls.databaseUrl }), (store) => store.close());
  const store = counted(real, counts);
  const found = await real.projects.find(PROJECT.id);
  if (found === null) throw new Error('the project is not there');
  const caller = { projectId: PROJECT.id, project: found.key, sessionId: null, ...BY_TEST };
  const pageTokens = new PageTokens(await real.sessions.serviceKey());
  for (let index = 0; index < count; index += 1) {
    const broker = opened.adopt(await openRedisBroker({ url: urls.redisUrl }), (open) => open.close());
    const presence = opened.adopt(await openRedisPresence({ url: urls.redisUrl }), (open) => open.close());
    const record = opened.adopt(new RecordFollower({ store, clock: systemClock, log }), (open) =>
      open.close(),
    );
    const beginnings = new Beginnings();
    const parts = { store, presence, broker, record, beginnings, clock: systemClock, log };
    const streams = opened.adopt(new PresenceHub({ ...parts, mergeMs: 0 }), (hub) => hub.close());
    const conversations = opened.adopt(new ConversationHub({ ...parts, pageTokens }), (hub) => hub.close());
    broker.subscribe(() => {
      counts.messages += 1;
    });
    const request = { caller, groupId };
    const filter = { groupId, location: null, resolved: null };
    for (const session of [
      await streams.open({ ...request, filter: { location: null, excludeDurable: false } }, null),
      await conversations.openThreads(request, filter, ['threads'], null),
      await conversations.openMessages(request, threadId, null),
    ]) {
      const sink = new SimulatedSink();
      sinks.push(sink);
      session.start(new SseSink(sink));
    }
  }
  const held = opened.move();
  let eventsBefore = 0;
  return {
    take() {
      const events = sinks.reduce((sum, { parser }) => sum + parser.events.length, 0);
      const taken = { ...counts, events: events - eventsBefore };
      eventsBefore = events;
      Object.assign(counts, { calls: 0, records: 0, messages: 0 });
      return taken;
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** The same store, whose calls are counted. */
function counted(store: Store, counts: { calls: number; records: number }): Store {
  const ofPort = (port: object) =>
    new Proxy(port, {
      get(_, name) {
        const method = Reflect.get(port, name) as unknown;
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          counts.calls += 1;
          const answer = (await Reflect.apply(method, port, args)) as unknown;
          if (name === 'readTopics') counts.records += (answer as { records: unknown[] }).records.length;
          return answer;
        };
      },
    });
  return new Proxy(store, {
    get(_, name) {
      const port = Reflect.get(store, name) as unknown;
      return typeof port === 'object' && port !== null ? ofPort(port) : port;
    },
  });
}
