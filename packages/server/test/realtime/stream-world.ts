import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { createConfigured } from '../../src/bootstrap.ts';
import { createMemoryBroker } from '../../src/broker/memory/memory-broker.ts';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import { readPositionId } from '../../src/realtime/event-text.ts';
import { PresenceHub } from '../../src/realtime/hub.ts';
import type { StreamRequest } from '../../src/realtime/stream-request.ts';
import type { StreamSession } from '../../src/realtime/stream-session.ts';
import { createServices, type Services } from '../../src/services.ts';
import { DURABLE_BOUNDS, type DurableBounds } from '../../src/store/durable-bounds.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { ProjectKey } from '../../src/store/store.ts';
import { closeEngine, type Engine } from '../../src/wiring.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { testSettings, withDataDir } from '../support/server.ts';
import { SimulatedSink } from './simulated-sink.ts';

/** How long something may take to be told. A test waits for it, never for the time. */
const TOLD_MAX_MS = 10_000;

export interface WorldOptions {
  readonly mergeMs?: number;
  /** Of each hub; one hub for each. Default: one with as many as a process has. */
  readonly writesPerSecond?: readonly (number | undefined)[];
  /** Default: silence. */
  readonly log?: Logger;
  /** Default: those of the API. */
  readonly durableBounds?: DurableBounds;
}

/** An engine with a project, the rules on it, and hubs whose streams end in memory instead of sockets. */
export class StreamWorld {
  readonly engine: Engine;
  readonly services: Services;
  /** As of several processes. */
  readonly hubs: readonly PresenceHub[];
  readonly clock: MovedClock;
  readonly project: ProjectKey;

  constructor(
    engine: Engine,
    services: Services,
    hubs: readonly PresenceHub[],
    clock: MovedClock,
    project: ProjectKey,
  ) {
    this.engine = engine;
    this.services = services;
    this.hubs = hubs;
    this.clock = clock;
    this.project = project;
  }

  get scope() {
    return { project: this.project, groupId: 'g' };
  }

  /** Makes users, and the group `g` of which they are the members. */
  async seed(ids: readonly string[]): Promise<void> {
    const body = { users: ids.map((id) => ({ id })), groups: [{ id: 'g', name: 'G', members: ids }] };
    await this.services.batches.apply(this.project, {
      body: Buffer.from(JSON.stringify(body)),
      dryRun: false,
    });
  }

  /** The same, with everybody present for an hour at a location with so long a value. */
  async seedWide(ids: readonly string[], length: number, page: string): Promise<void> {
    await this.seed(ids);
    for (const userId of ids) {
      const { incarnation } = await this.engine.store.standing(this.project, 'g', userId);
      await this.engine.presence.set({
        ...this.scope,
        userId,
        incarnation: incarnation as number,
        region: JSON.stringify({ page }),
        location: JSON.stringify({ page, wide: 'x'.repeat(length) }),
        now: this.clock.now(),
        expiresAt: this.clock.now() + 3_600_000,
      });
    }
  }

  /** Sets the user present on a line of the page, and on no other. */
  async move(userId: string, line: string): Promise<void> {
    const location = { page: '1', line };
    await this.services.presence.put(this.project, userId, {
      groupID: 'g',
      location,
      exclusiveWithin: { page: '1' },
    });
  }

  /** A stream of everybody in `g`: with its snapshot, or from where an ID says, on one of the processes. */
  async open(
    asked: Partial<StreamRequest> = {},
    lastId?: string,
    hub = 0,
    sink = new SimulatedSink(),
  ): Promise<SimulatedSink> {
    const session = await this.session(asked, lastId, hub);
    sink.onEnd = () => session.close();
    session.start(sink);
    return sink;
  }

  /** The same before it is told anything. */
  session(asked: Partial<StreamRequest> = {}, lastId?: string, hub = 0): Promise<StreamSession> {
    return (this.hubs[hub] as PresenceHub).open(
      {
        caller: { projectId: 'test-project', project: this.project, sessionId: null },
        groupId: 'g',
        noun: 'group',
        filter: { location: null, excludeDurable: false },
        ...asked,
      },
      readPositionId(lastId),
    );
  }

  /** Lets seconds pass one by one, each with time to do what is due in it. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.move(1_000);
      for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    }
  }

  /** Waits until it holds, with the event loop going on and the clock standing still. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + TOLD_MAX_MS;
    while (!holds()) {
      assert.ok(performance.now() < deadline, `waited for ${what}`);
      await nextTurn();
    }
  }
}

/** The embedded engine, with bounds of the test's. */
async function openMemoryEngine(dataDir: string, durableBounds = DURABLE_BOUNDS): Promise<Engine> {
  const store = await openSqliteStore({ dataDir, durableBounds });
  return { store, presence: createMemoryPresence(), broker: createMemoryBroker() };
}

export async function withStreams(
  options: WorldOptions,
  use: (world: StreamWorld) => Promise<void>,
): Promise<void> {
  const { mergeMs = 500, writesPerSecond = [undefined], log = pino({ level: 'silent' }) } = options;
  const clock = new MovedClock();
  await withDataDir(undefined, async (dataDir) => {
    await using opened = new AsyncDisposableStack();
    const settings = testSettings(dataDir);
    const engine = opened.adopt(await openMemoryEngine(dataDir, options.durableBounds), closeEngine);
    const services = opened.adopt(await createServices(engine, clock, settings, log), (built) =>
      built.close(),
    );
    const hubs = writesPerSecond.map((budget) =>
      opened.adopt(
        new PresenceHub({
          ...engine,
          clock,
          log,
          mergeMs,
          ...(budget !== undefined && { writesPerSecond: budget }),
        }),
        (hub) => hub.close(),
      ),
    );
    await createConfigured(engine.store, settings, clock.now());
    const project = await engine.store.findProject(settings.projectId as string);
    assert.ok(project !== null);
    await use(new StreamWorld(engine, services, hubs, clock, project.key));
  });
  assert.equal(clock.timers, 0, 'timers were left behind');
}
