import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Json } from '../../store/store.ts';
import type { Expiry, PresenceScope } from '../presence-store.ts';
import type { PresenceEngine } from './presence-engine.ts';
import { DUE_BUCKETS } from './presence-keys.ts';
import { KEPT_MS } from './presence-scripts.ts';

/** What leads a sweep to a group: it stands in an index of due groups, at `due`. */
export interface DueEntry {
  readonly id: string;
  readonly due: number;
}

/** A presence that ended, and when. */
export interface Expired {
  readonly expiry: Expiry;
  readonly deadline: number;
}

/** How much earlier than its first deadline a group is looked at, so that clocks which differ need no second entry. */
const EARLY_MS = 1_000;
/** How long whoever takes a due group keeps others from it: if it dies, they are as much later. */
const CLAIM_MS = 500;
const CLAIMED_MAX = 32;
/** How many presences one step ends: a millisecond or two of Redis' time. */
const EXPIRED_PER_STEP = 200;
/** How long an entry is believed that no presence counts on yet: whoever made it may be about to set one. */
const GRACE_MS = 10_000;
/** The score below which there are no members. */
const NONE = '-inf';
/** Within which time of that an entry is used by whoever made it, by another clock. */
const USED_WITHIN_MS = 5_000;

/**
 * Which groups are to be looked at, and when: how a sweep finds what is due without looking for it.
 *
 * A presence is stored only where an entry stands that is due no later than it, and the group's own keys remember which,
 * so that a refresh asks nothing else. An entry is made once, has a name of its own, and goes only when the group no longer
 * counts on it: so whatever dies between two steps leaves an entry too many, never one too few. Entries are also in the
 * index of their project's groups.
 */
export class DueGroups {
  readonly #engine: PresenceEngine;
  readonly #self = randomBytes(6).toString('base64url');
  #made = 0;
  /** What is being made, by group. */
  readonly #making = new Map<string, { due: number; entry: Promise<DueEntry> }>();

  constructor(engine: PresenceEngine) {
    this.#engine = engine;
  }

  /** An entry that is due no later than the deadline, to be used at once. */
  async enter(scope: PresenceScope, deadline: number, now: number): Promise<DueEntry> {
    const group = this.#engine.keys.channel(scope);
    const making = this.#making.get(group);
    if (making !== undefined && making.due <= deadline) return making.entry;
    const due = deadline - EARLY_MS;
    const entry = this.#make(scope, due, now);
    this.#making.set(group, { due, entry });
    try {
      return await entry;
    } finally {
      if (this.#making.get(group)?.entry === entry) this.#making.delete(group);
    }
  }

  /** An entry that leads the next sweep to a group whose own was lost, to be used at once. See lua/overdue.lua. */
  enlistAgain(scope: PresenceScope, now: number): Promise<DueEntry> {
    return this.enter(scope, now + EARLY_MS, now);
  }

  /** Ends what is due by now in all groups. What cannot be reached is left to the next sweep. */
  async sweep(now: number): Promise<Expired[]> {
    const expired: Expired[] = [];
    const sweeps = Array.from({ length: DUE_BUCKETS }, (_, bucket) =>
      this.#sweepBucket(bucket, now, expired),
    );
    const [failure] = failuresOf(await Promise.allSettled(sweeps));
    // What has been ended is told by nobody else.
    if (failure !== undefined && expired.length === 0) throw failure;
    return expired;
  }

  async #make(scope: PresenceScope, due: number, now: number): Promise<DueEntry> {
    const begun = performance.now();
    this.#made += 1;
    const id = `${this.#self}${this.#made}`;
    const bucket = this.#engine.keys.due(this.#made % DUE_BUCKETS);
    await this.#engine.onIndex('enlist', bucket, due, entryText(scope, id, now), keptMs(due, now), NONE);
    await this.#enterProject(scope, id, keptMs(due, now));
    return performance.now() - begun < USED_WITHIN_MS ? { id, due } : this.#make(scope, due, now);
  }

  async #enterProject({ project, groupId }: PresenceScope, id: string, kept: number): Promise<void> {
    const key = this.#engine.keys.groups(project);
    await this.#engine.onIndex('enlist', key, 0, groupMember(groupId, id), kept, NONE);
  }

  async #leaveProject({ project, groupId }: PresenceScope, id: string): Promise<void> {
    const { connection, keys } = this.#engine;
    await connection.removeMember(keys.groups(project), groupMember(groupId, id));
  }

  async #sweepBucket(bucket: number, now: number, expired: Expired[]): Promise<void> {
    const key = this.#engine.keys.due(bucket);
    for (let isMore = true; isMore; ) {
      const entries = (await this.#engine.onIndex(
        'claim',
        key,
        now,
        now + CLAIM_MS,
        CLAIMED_MAX,
      )) as string[];
      isMore = entries.length === CLAIMED_MAX;
      const looked = await Promise.allSettled(entries.map((entry) => this.#look(entry, now, expired)));
      await this.#settle(
        key,
        now,
        looked.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : [])),
      );
      const [failure] = failuresOf(looked);
      if (failure !== undefined) throw failure;
    }
  }

  async #settle(key: string, now: number, looks: readonly Look[]): Promise<void> {
    if (looks.length === 0) return;
    const kept = Math.max(...looks.map(({ next }) => keptMs(next ?? now, now)));
    await this.#engine.onIndex(
      'settle',
      key,
      kept,
      ...looks.flatMap(({ entry, next }) => [entry, next ?? '']),
    );
  }

  /** Ends what is due in the group of an entry, and says when the entry is due next. */
  async #look(entry: string, now: number, expired: Expired[]): Promise<Look> {
    const { scope, id, madeAt } = readEntry(entry);
    const next = await this.#expire(scope, id, now, expired);
    if (next === 'drop' || (next === 'other' && now >= madeAt + GRACE_MS)) {
      await this.#leaveProject(scope, id);
      return { entry, next: null };
    }
    if (next === 'other') return { entry, next: now + CLAIM_MS };
    // Again, so that the index of a project is kept for as long as something in it is.
    await this.#enterProject(scope, id, keptMs(Number(next), now));
    return { entry, next: Number(next) };
  }

  /** Gives the script's last word on the entry: see lua/expire.lua. */
  async #expire(scope: PresenceScope, entryId: string, now: number, expired: Expired[]): Promise<string> {
    for (;;) {
      const reply = await this.#engine.onGroup('expire', scope, now, EXPIRED_PER_STEP, entryId);
      const [next, ...told] = reply as [string, ...string[]];
      for (let at = 0; at < told.length; at += 3) {
        const [userId, location, deadline] = told.slice(at, at + 3) as [string, Json, string];
        expired.push({ expiry: { ...scope, userId, location }, deadline: Number(deadline) });
      }
      if (next !== 'more') return next;
    }
  }
}

/** What has been found out about an entry: when it is due next, or null where it is to go. */
interface Look {
  readonly entry: string;
  readonly next: number | null;
}

function keptMs(deadline: number, now: number): number {
  return Math.max(deadline - now, 0) + KEPT_MS;
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

function readEntry(text: string): { scope: PresenceScope; id: string; madeAt: number } {
  const [project, groupId, id, madeAt] = JSON.parse(text);
  return { scope: { project, groupId }, id, madeAt };
}

function failuresOf(results: readonly PromiseSettledResult<unknown>[]): unknown[] {
  return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
}
