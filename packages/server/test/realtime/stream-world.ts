import assert from 'node:assert/strict';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { createConfigured } from '../../src/bootstrap.ts';
import { createMemoryBroker } from '../../src/broker/memory/memory-broker.ts';
import { RecordFollower } from '../../src/core/changes/record-follower.ts';
import { presenceChange } from '../../src/core/presence/presence-change.ts';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import { PresenceHub } from '../../src/realtime/feed/presence-hub.ts';
import { Beginnings } from '../../src/realtime/sessions/beginnings.ts';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import type { StreamRequest } from '../../src/realtime/sessions/stream-request.ts';
import type { StreamSession } from '../../src/realtime/sessions/stream-session.ts';
import { createServices, type Services } from '../../src/services.ts';
import { DURABLE_BOUNDS, type DurableBounds } from '../../src/store/durable-bounds.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { readPositionId } from '../../src/wire/event-text.ts';
import { closeEngine, type Engine } from '../../src/wiring.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { BY_TEST } from '../support/origin.ts';
import { testSettings, withDataDir } from '../support/server.ts';
import { WAIT_MAX_MS } from '../support/waiting.ts';
import { SimulatedSink } from './simulated-sink.ts';

export interface WorldOptions {
  readonly mergeMs?: number;
  /** The write budget of each hub; one hub for each number. Default: one hub with the budget of a process. */
  readonly writesPerSecond?: readonly (number | undefined)[];
  /** Default: no log. */
  readonly log?: Logger;
  /** Default: those of the API. */
  readonly durableBounds?: DurableBounds;
  /** The members of the group `g`, from the beginning. Default: there is no group. */
  readonly users?: readonly string[];
}

export const manyUsers = (count: number) => Array.from({ length: count }, (_, index) => `u${index + 10_000}`);

/** An engine with a project, the rules on it, and hubs whose streams end in memory instead of sockets. */
export class StreamWorld {
  readonly engine: Engine;
  readonly services: Services;
  /** Each hub is one of another process. */
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
    await this.services.batches.apply(
      { project: this.project, ...BY_TEST },
      {
        body: Buffer.from(JSON.stringify(body)),
        dryRun: false,
      },
    );
  }

  /** The same, with all users present for an hour at a location with a value of this length. */
  async seedWide(ids: readonly string[], length: number, page: string): Promise<void> {
    await this.seed(ids);
    for (const userId of ids) {
      const { incarnation } = await this.engine.store.eligibility.find(this.project, 'g', userId);
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
    await this.put(userId, { location, exclusiveWithin: { page: '1' } });
  }

  /** Updates where the user is in the group. */
  put(userId: string, write: Parameters<typeof presenceChange>[0]): Promise<void> {
    const writer = { project: this.project, ...BY_TEST };
    return this.services.presence.put(writer, userId, presenceChange(write, 'g'));
  }

  /** Moves all users to the line, one after the other. */
  async moveAll(userIds: readonly string[], line: string): Promise<void> {
    for (const userId of userIds) await this.move(userId, line);
  }

  /** A stream of all of `g` on one of the processes: with a snapshot, or resumed from an ID. */
  async open(
    request: Partial<StreamRequest> = {},
    lastId?: string,
    hub = 0,
    sink = new SimulatedSink(),
  ): Promise<SimulatedSink> {
    const session = await this.session(request, lastId, hub);
    sink.onEnd = () => session.close();
    session.start(new SseSink(sink));
    return sink;
  }

  /** The same before anything is sent. */
  session(request: Partial<StreamRequest> = {}, lastId?: string, hub = 0): Promise<StreamSession> {
    return (this.hubs[hub] as PresenceHub).open(
      {
        caller: { projectId: 'test-project', project: this.project, sessionId: null, ...BY_TEST },
        groupId: 'g',
        filter: { location: null, excludeDurable: false },
        ...request,
      },
      readPositionId(lastId),
    );
  }

  /** Moves the clock second by second, each with ticks for the work that is due in it. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.move(1_000);
      for (let tick = 0; tick < 4; tick += 1) await nextIteration();
    }
  }

  /** Waits until the condition is true, while the event loop runs and the clock stands still. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + WAIT_MAX_MS;
    while (!holds()) {
      assert.ok(performance.now() < deadline, `waited for ${what}`);
      await nextIteration();
    }
  }
}

/** The embedded engine with the bounds of the test. */
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
  await withDataDir(async (dataDir) => {
    await using opened = new AsyncDisposableStack();
    const settings = testSettings(dataDir);
    const engine = opened.adopt(await openMemoryEngine(dataDir, options.durableBounds), closeEngine);
    const services = opened.adopt(await createServices(engine, clock, settings, log), (built) =>
      built.close(),
    );
    const hubs = writesPerSecond.map((budget) => {
      const record = opened.adopt(new RecordFollower({ ...engine, clock, log }), (own) => own.close());
      return opened.adopt(
        new PresenceHub({
          ...engine,
          record,
          clock,
          log,
          beginnings: new Beginnings(),
          mergeMs,
          ...(budget !== undefined && { writesPerSecond: budget }),
        }),
        (hub) => hub.close(),
      );
    });
    await createConfigured(engine.store, settings, clock.now());
    const project = await engine.store.projects.find(settings.projectId as string);
    assert.ok(project !== null);
    const world = new StreamWorld(engine, services, hubs, clock, project.key);
    if (options.users !== undefined) await world.seed(options.users);
    await use(world);
  });
  assert.equal(clock.timers, 0, 'timers were left behind');
}
