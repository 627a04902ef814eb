import assert from 'node:assert/strict';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { canonicalLocation, type Location, type PresenceEntry } from '@rollcall/protocol';
import type { PresenceFilter } from '../../src/core/presence/presence-reading.ts';
import { ServiceError } from '../../src/core/service-error.ts';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import { readPositionId } from '../../src/wire/event-text.ts';
import { presentPresence } from '../../src/wire/presenters.ts';
import type { Random } from '../sim/random.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import { SimulatedSink } from './simulated-sink.ts';
import type { StreamWorld } from './stream-world.ts';

const GROUP = 'g';
const USERS = Array.from({ length: 8 }, (_, index) => `u${index}`);
const LOCATIONS: readonly Location[] = [
  { page: '1' },
  { page: '1', line: '1' },
  { page: '1', line: '2' },
  { page: '2' },
  { page: '2', line: '1' },
];
const REGIONS: readonly (Location | null)[] = [null, null, { page: '1' }, { page: '2' }];
const FILTERS: readonly PresenceFilter[] = [null, { page: '1' }, { page: '1', line: '1' }].flatMap(
  (location) =>
    [true, false].flatMap((partial) =>
      [true, false].map((excludeDurable) => ({
        location: location === null ? null : { location: canonicalLocation(location), partial },
        excludeDurable,
      })),
    ),
);
const EXPANSIONS: readonly Pick<PresenceFilter, 'expand'>[] = [
  {},
  { expand: ['data'] },
  { expand: ['user'] },
  { expand: ['data', 'user'] },
];
const CONNECTIONS = [{}, {}, { connectionID: 'a' }, { connectionID: 'b' }];
const DATA = [{}, {}, { data: { x: 1 } }, { data: { x: 2 } }, { data: null }];
const READERS = 6;
/** The interval of sweeps: after each sweep streams have the departures of all presence that a reading omits. */
const SWEEP_MS = 250;
const ATTEMPTS_MAX = 80;

interface Reader {
  readonly filter: PresenceFilter;
  readonly sink: SimulatedSink;
  readonly model: ReaderModel;
  taken: number;
}

/**
 * Random writes, several at a time, while readers with all kinds of filters connect, lag, are disconnected and resume
 * on either process: whenever all events were sent, each stream equals a reading with its filter.
 */
export class StreamSimulation {
  readonly #world: StreamWorld;
  readonly #random: Random;
  #readers: Reader[] = [];
  /** The number of readers that resumed without a snapshot. */
  resumed = 0;
  readonly #isExpanded: boolean;
  readonly #isDelayed: boolean;

  /**
   * @param isExpanded whether users have names, connections and data, and readers may be shown them
   * @param isDelayed whether the processes read the Store at different times after an event, so that they may find different states
   */
  constructor(world: StreamWorld, random: Random, { isExpanded = false, isDelayed = false } = {}) {
    this.#world = world;
    this.#random = random;
    this.#isExpanded = isExpanded;
    this.#isDelayed = isDelayed;
  }

  /** @throws Error that names the round in which a stream shows something wrong */
  async run(rounds: number): Promise<void> {
    await this.#world.seed(USERS);
    if (this.#isDelayed) this.#delayReadings();
    for (let round = 0; round < rounds; round += 1) {
      try {
        await this.#round();
      } catch (cause) {
        throw new Error(`round ${round}: ${cause instanceof Error ? cause.message : cause}`, { cause });
      }
    }
  }

  #delayReadings(): void {
    const { eligibility, users, durablePresence } = this.#world.engine.store;
    const delay = async () => {
      for (let ticks = this.#random.below(6); ticks > 3; ticks -= 1) await nextIteration();
    };
    const [filter, listByIds, list] = [eligibility.filter, users.listByIds, durablePresence.list];
    eligibility.filter = (...of) => delay().then(() => filter.apply(eligibility, of));
    users.listByIds = (...of) => delay().then(() => listByIds.apply(users, of));
    durablePresence.list = (...of) => delay().then(() => list.apply(durablePresence, of));
  }

  async #round(): Promise<void> {
    for (let step = this.#random.below(8); step >= 0; step -= 1) {
      const writes = Array.from({ length: 1 + this.#random.below(4) }, () => this.#write());
      const reads = this.#random.chance(0.4) ? [this.#disturb()] : [];
      await Promise.all([...writes.map(ignoringErrors), ...reads]);
      if (this.#random.chance(0.5)) await nextIteration();
      if (this.#random.chance(0.3)) this.#world.clock.move(SWEEP_MS * this.#random.below(30));
    }
    await this.#expectAllSent();
  }

  async #write(): Promise<unknown> {
    const { services, project, clock } = this.#world;
    const random = this.#random;
    const userId = random.pick(USERS);
    const kind = random.below(100);
    if (kind < 80) return this.#put(userId);
    if (kind < 87) {
      const status = random.pick(['active', 'deleted'] as const);
      const write = { ...this.#expanded([{}, { name: 'A' }, { name: 'B' }]), status };
      return services.users.put({ project, ...BY_TEST }, userId, write, {});
    }
    if (kind < 95) {
      const change = random.chance(0.5) ? { add: [userId] } : { remove: [userId] };
      return services.memberships.change({ project, ...BY_TEST }, GROUP, change, {});
    }
    if (kind < 97) {
      const status = random.pick(['active', 'active', 'deleted'] as const);
      return services.groups.put({ project, ...BY_TEST }, GROUP, { status }, {});
    }
    if (kind === 97) return clock.jump(random.pick([-5_000, 5_000, 120_000]));
    if (kind === 98) await services.groups.remove({ project, ...BY_TEST }, GROUP, {});
    return this.#world.seed(USERS);
  }

  #put(userId: string): Promise<void> {
    const random = this.#random;
    const exclusiveWithin = random.pick(REGIONS);
    const location = { ...random.pick(LOCATIONS), ...exclusiveWithin };
    const kind = random.pick([{}, {}, {}, { durable: true }, { absent: true }]);
    return this.#world.put(userId, {
      location,
      ...(exclusiveWithin !== null && { exclusiveWithin }),
      ...kind,
      ...('durable' in kind ? {} : { ...this.#expanded(CONNECTIONS), ...this.#expanded(DATA) }),
    });
  }

  /** One of the choices; nothing where the world is not expanded. */
  #expanded<Choice extends object>(choices: readonly Choice[]): Choice | object {
    return this.#isExpanded ? this.#random.pick(choices) : {};
  }

  /** A random event of a reader: it connects, lags, or is disconnected. */
  async #disturb(): Promise<void> {
    const kind = this.#random.below(4);
    const reader = this.#readers.length < READERS ? undefined : this.#random.pick(this.#readers);
    if (reader === undefined)
      await this.#open({ ...this.#random.pick(FILTERS), ...this.#expanded(EXPANSIONS) });
    else if (kind === 0) await this.#comeBack(reader);
    else if (kind === 1) reader.sink.flow();
    else if (kind === 2) reader.sink.stop();
    else this.#leave(reader);
  }

  #leave(reader: Reader): void {
    reader.sink.destroy();
    this.#readers = this.#readers.filter((other) => other !== reader);
  }

  /** The connection breaks within the events, and the reader resumes from there. */
  async #comeBack(reader: Reader): Promise<void> {
    this.#take(reader, this.#random.below(reader.sink.parser.events.length - reader.taken + 1));
    this.#leave(reader);
    const lastEventId = reader.sink.parser.events[reader.taken - 1]?.id;
    await this.#open(reader.filter, reader.model, lastEventId);
  }

  async #open(
    filter: PresenceFilter,
    model = new ReaderModel(filter.expand?.includes('data')),
    lastEventId?: string,
  ): Promise<void> {
    const { hubs, project } = this.#world;
    const caller = { actor: BY_TEST.actor, projectId: 'p', project, sessionId: null };
    const request = { caller, groupId: GROUP, noun: 'group', filter } as const;
    const session = await this.#random
      .pick(hubs)
      .open(request, readPositionId(lastEventId))
      .catch(ignoreError);
    if (session === null) return;
    const sink = new SimulatedSink();
    session.start(new SseSink(sink));
    this.#readers.push({ filter, sink, model, taken: 0 });
    const [first] = sink.parser.events;
    if (lastEventId !== undefined && first?.type !== 'snapshot') this.resumed += 1;
  }

  #take(reader: Reader, count: number): void {
    const { events } = reader.sink.parser;
    for (const event of events.slice(reader.taken, reader.taken + count)) reader.model.take(event);
    reader.taken += count;
  }

  /** Moves the clock until all events were sent, and checks every reader. */
  async #expectAllSent(): Promise<void> {
    for (const { sink } of this.#readers) sink.flow();
    let wrong: [expected: unknown, known: unknown] | null = null;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      this.#world.clock.move(SWEEP_MS);
      for (let tick = 0; tick < 4; tick += 1) await nextIteration();
      wrong = await this.#firstWrong();
      if (wrong === null) return;
    }
    assert.deepEqual(wrong?.[1], wrong?.[0]);
  }

  async #firstWrong(): Promise<[unknown, unknown] | null> {
    for (const reader of this.#readers) {
      this.#take(reader, reader.sink.parser.events.length - reader.taken);
      if (reader.sink.ended !== null) {
        this.#leave(reader);
        const isGone = reader.sink.parser.events.at(-1)?.type === 'error';
        // Disconnected because it lagged: it resumes.
        if (!isGone) await this.#open(reader.filter, reader.model, reader.sink.parser.events.at(-1)?.id);
        return [null, reader];
      }
      const expected = await this.#reading(reader.filter);
      const known = reader.model.entries();
      if (JSON.stringify(sorted(known)) !== JSON.stringify(sorted(expected))) return [expected, known];
    }
    return null;
  }

  async #reading(filter: PresenceFilter): Promise<PresenceEntry[]> {
    const { services, project } = this.#world;
    const page = { after: null, limit: 10_000 };
    try {
      const { entries } = await services.presenceReading.ofGroup({ project, groupId: GROUP }, filter, page);
      return entries.map((entry) => JSON.parse(presentPresence(entry)) as PresenceEntry);
    } catch (error) {
      ignoreError(error);
      return [];
    }
  }
}

/** Entries with the keys of every object in one order. */
const sorted = (entries: PresenceEntry[]) =>
  entries.map(({ id, ephemeral, durable, user }) => [
    id,
    ephemeral.locations.map(canonicalLocation),
    ephemeral.data,
    durable === undefined ? null : [canonicalLocation(durable.location), durable.timestamp],
    user && [user.name, user.profile_picture_url],
  ]);

function ignoreError(error: unknown): null {
  if (error instanceof ServiceError && error.status < 500) return null;
  throw error;
}

const ignoringErrors = (work: Promise<unknown>) => work.catch(ignoreError);
