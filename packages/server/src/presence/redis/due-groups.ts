import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { failuresOf } from '../../concurrency/failures-of.ts';
import { PROCESS_CLOCK_TOLERANCE_MS } from '../../values/clock-tolerance.ts';
import type { Json } from '../../values/json.ts';
import { slices } from '../../values/slices.ts';
import { type Expiry, type PresenceScope, SET_BACK_MS } from '../presence-store.ts';
import type { PresenceEngine } from './presence-engine.ts';
import { DUE_BUCKETS } from './presence-keys.ts';
import { RETENTION_MS } from './presence-scripts.ts';

/** An entry of a group in the index of due groups, by which a sweep finds the group at `due`. */
export interface DueEntry {
  readonly id: string;
  readonly due: number;
}

/** A presence that ended, and when. */
interface Expired {
  readonly expiry: Expiry;
  readonly deadline: number;
}

/** How long a sweep claims a due group, in milliseconds. If its process dies, another one sweeps the group then. */
const CLAIM_MS = 500;
const CLAIMED_MAX = 32;
/** How many presences one step ends: a millisecond or two of Redis' time. */
const EXPIRED_PER_STEP = 200;
/** How long an entry stays that no presence relies on yet, in milliseconds: its process may be about to set one. */
const GRACE_MS = 10_000;
/** The score below which there are no members. */
const NONE = '-inf';
/** Within which time its process uses a new entry, in milliseconds by another clock. */
const USED_WITHIN_MS = 5_000;

/**
 * The index of due groups, by which a sweep finds what is due.
 *
 * A presence is stored only when the index has an entry that is due no later. The group's own keys store the entry's ID,
 * so that a refresh reads nothing else. An entry is made once and removed only when the group no longer relies on it: a
 * process that dies between two steps leaves an entry too many, never one too few. Entries are also in the index of their
 * project's groups.
 */
export class DueGroups {
  readonly #engine: PresenceEngine;
  readonly #self = randomBytes(6).toString('base64url');
  #made = 0;
  /** The longest time to live of an update of this process, and the time of its last sweep. */
  #lifeMs = 0;
  #sweptAt = 0;
  /** Entries that are being made, by group. */
  readonly #making = new Map<string, { due: number; entry: Promise<DueEntry> }>();

  constructor(engine: PresenceEngine) {
    this.#engine = engine;
  }

  /** An entry that is due no later than the deadline, to be used at once. */
  async register(scope: PresenceScope, deadline: number, now: number): Promise<DueEntry> {
    const group = this.#engine.keys.channel(scope);
    const making = this.#making.get(group);
    if (making !== undefined && making.due <= deadline) return making.entry;
    // Earlier than the first deadline, so that clocks which differ need no second entry.
    const due = deadline - PROCESS_CLOCK_TOLERANCE_MS;
    const entry = this.#make(scope, due, now);
    this.#making.set(group, { due, entry });
    try {
      return await entry;
    } finally {
      if (this.#making.get(group)?.entry === entry) this.#making.delete(group);
    }
  }

  /** An entry that is due now, for a group whose entry was lost. To be used at once. See lua/overdue.lua. */
  registerAgain(scope: PresenceScope, now: number): Promise<DueEntry> {
    return this.register(scope, now + PROCESS_CLOCK_TOLERANCE_MS, now);
  }

  /** An update of this process lasts so long. */
  lasts(ms: number): void {
    this.#lifeMs = Math.max(this.#lifeMs, ms);
  }

  /** Ends what is due by now in all groups. Groups that cannot be reached are left to the next sweep. */
  async sweep(now: number): Promise<Expired[]> {
    const expired: Expired[] = [];
    const isSetBack = this.#lifeMs > 0 && now < this.#sweptAt - SET_BACK_MS;
    const latest = isSetBack ? now + this.#lifeMs : null;
    const sweeps = Array.from({ length: DUE_BUCKETS }, (_, bucket) =>
      this.#sweepBucket(bucket, { now, latest, expired }),
    );
    const [failure] = failuresOf(await Promise.allSettled(sweeps));
    // No other sweep reports what has ended here.
    if (failure !== undefined && expired.length === 0) throw failure;
    if (failure === undefined) this.#sweptAt = now;
    return expired;
  }

  async #make(scope: PresenceScope, due: number, now: number): Promise<DueEntry> {
    const begun = performance.now();
    this.#made += 1;
    const id = `${this.#self}${this.#made}`;
    const bucket = this.#engine.keys.due(this.#made % DUE_BUCKETS);
    await this.#engine.onIndex(
      'addToIndex',
      bucket,
      due,
      entryText(scope, id, now),
      retentionMs(due, now),
      NONE,
    );
    await this.#addToProject(scope, id, retentionMs(due, now));
    return performance.now() - begun < USED_WITHIN_MS ? { id, due } : this.#make(scope, due, now);
  }

  async #addToProject({ project, groupId }: PresenceScope, id: string, retention: number): Promise<void> {
    const key = this.#engine.keys.groups(project);
    await this.#engine.onIndex('addToIndex', key, 0, groupMember(groupId, id), retention, NONE);
  }

  async #removeFromProject({ project, groupId }: PresenceScope, id: string): Promise<void> {
    const { connection, keys } = this.#engine;
    await connection.command('zrem', keys.groups(project), groupMember(groupId, id));
  }

  async #sweepBucket(bucket: number, sweep: Sweep): Promise<void> {
    const { now, latest } = sweep;
    const key = this.#engine.keys.due(bucket);
    const until = now + CLAIM_MS;
    const claim = (due: number | string, limit: number) =>
      this.#engine.onIndex('claim', key, due, until, limit) as Promise<string[]>;
    // All groups at once: those that are scheduled again would be found again.
    const failures: unknown[] = [];
    if (latest !== null) {
      // Groups on a node that is away leave the others their turn.
      for (const entries of slices(await claim('+inf', -1), CLAIMED_MAX))
        await this.#sweepGroups(key, entries, until, sweep).catch((error) => failures.push(error));
    }
    for (let isMore = true; isMore; ) {
      const entries = await claim(now, CLAIMED_MAX);
      isMore = entries.length === CLAIMED_MAX;
      await this.#sweepGroups(key, entries, until, sweep);
    }
    if (failures.length > 0) throw failures[0];
  }

  async #sweepGroups(key: string, entries: readonly string[], until: number, sweep: Sweep): Promise<void> {
    const swept = await Promise.allSettled(entries.map((entry) => this.#sweepGroup(entry, sweep)));
    const done = swept.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    await this.#reschedule(key, sweep.now, until, done);
    const [failure] = failuresOf(swept);
    if (failure !== undefined) throw failure;
  }

  async #reschedule(key: string, now: number, until: number, swept: readonly Swept[]): Promise<void> {
    if (swept.length === 0) return;
    const retention = Math.max(...swept.map(({ next }) => retentionMs(next ?? now, now)));
    const schedule = swept.flatMap(({ entry, next }) => [entry, next ?? '']);
    const gone = await this.#engine.onIndex('reschedule', key, retention, until, ...schedule);
    // Another sweep has removed these, maybe before this one has added them to their project's index.
    for (const entry of gone as string[]) {
      const { scope, id } = readEntry(entry);
      await this.#removeFromProject(scope, id);
    }
  }

  /** Ends what is due in the group of an entry, and returns when the entry is due next. */
  async #sweepGroup(entry: string, sweep: Sweep): Promise<Swept> {
    const { scope, id, madeAt } = readEntry(entry);
    const { now } = sweep;
    const next = await this.#expire(scope, id, sweep);
    // One that was made before the clock was set back is old.
    const isOld = now >= madeAt + GRACE_MS || now < madeAt - SET_BACK_MS;
    if (next === 'drop' || (next === 'other' && isOld)) {
      await this.#removeFromProject(scope, id);
      return { entry, next: null };
    }
    if (next === 'other') return { entry, next: now + CLAIM_MS };
    // Renews the expiry of the project's index: it lasts as long as its groups. It may be on another node, which is away, or memory is
    // full; the next sweep of the group tries again.
    await this.#addToProject(scope, id, retentionMs(Number(next), now)).catch(() => {});
    return { entry, next: Number(next) };
  }

  /** Answers what is to become of the entry: see lua/expire.lua. */
  async #expire(scope: PresenceScope, entryId: string, { now, latest, expired }: Sweep): Promise<string> {
    const args = [EXPIRED_PER_STEP, entryId, ...(latest === null ? [] : [latest])];
    for (;;) {
      const reply = await this.#engine.onGroup('expire', scope, now, ...args);
      const [next, ...ended] = reply as [string, ...string[]];
      for (let at = 0; at < ended.length; at += 3) {
        const [userId, location, deadline] = ended.slice(at, at + 3) as [string, Json, string];
        expired.push({ expiry: { ...scope, userId, location }, deadline: Number(deadline) });
      }
      if (next !== 'more') return next;
    }
  }
}

interface Sweep {
  readonly now: number;
  /** Where the clock was set back, presence ends by then; else null. */
  readonly latest: number | null;
  readonly expired: Expired[];
}

/** A swept entry: when it is due next, or null where it is to be removed. */
interface Swept {
  readonly entry: string;
  readonly next: number | null;
}

function retentionMs(deadline: number, now: number): number {
  return Math.max(deadline - now, 0) + RETENTION_MS;
}

/** A group in the index of its project: once for every entry. */
function groupMember(groupId: string, entryId: string): string {
  return `${groupId}\0${entryId}`;
}

/** The group that a member of a project's index names. */
export function groupOfMember(member: string): string {
  return member.slice(0, member.indexOf('\0'));
}

function entryText({ project, groupId }: PresenceScope, id: string, madeAt: number): string {
  return JSON.stringify([project, groupId, id, madeAt]);
}

/** The group of an entry, its ID and when it was made. */
export function readEntry(text: string): { scope: PresenceScope; id: string; madeAt: number } {
  const [project, groupId, id, madeAt] = JSON.parse(text);
  return { scope: { project, groupId }, id, madeAt };
}
