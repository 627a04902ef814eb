import type { Incarnation } from '../../values/incarnation.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { PresenceScope, PresenceUpdate } from '../presence-store.ts';
import { regionName } from '../region-name.ts';

/**
 * The version of the layout, which is part of every name: two versions of Rollcall whose scripts do not understand each
 * other's keys share none. Raise it with such a change. See ADR 12.
 */
const LAYOUT = 4;
/** Longer regions are named by their hash. */
const REGION_NAME_MAX = 40;
/** How many indexes of due groups there are, so that the nodes of a cluster share them. */
export const DUE_BUCKETS = 16;

/** The names of all keys of presence in Redis. The keys of a group are in one slot, that of its hash tag. */
export class PresenceKeys {
  readonly #prefix: string;
  readonly #db: number;

  constructor({ prefix, db }: { readonly prefix: string; readonly db: number }) {
    this.#prefix = `${prefix}:${LAYOUT}`;
    this.#db = db;
  }

  /** In the order of KEYS: see lua/group.lua. */
  ofGroup(scope: PresenceScope): string[] {
    const group = `${this.#prefix}:{${tagOf(scope)}}:`;
    return [
      `${group}locations`,
      `${group}deadlines`,
      `${group}index`,
      `${group}meta`,
      `${group}watched`,
      `${group}history`,
    ];
  }

  /** The channel of the group's events: see lua/group-history.lua. */
  channel(scope: PresenceScope): string {
    return `${this.#db}:${this.#prefix}:{${tagOf(scope)}}:watched`;
  }

  due(bucket: number): string {
    return `${this.#prefix}:{due ${bucket}}`;
  }

  /** The groups of a project that may have presence. */
  groups(project: ProjectKey): string {
    return `${this.#prefix}:{${projectTag(project)}}:groups`;
  }

  watchedGroups(project: ProjectKey): string {
    return `${this.#prefix}:{${projectTag(project)}}:watched`;
  }
}

/** The name of a user's membership within the group. No ID has a NUL. */
export function holderName(userId: string, incarnation: Incarnation): string {
  return `${userId}\0${incarnation}`;
}

/** The user and the membership that {@link holderName} names, and the order and data that may follow it: see lua/find.lua. */
export function readHolder(name: string) {
  const [userId, incarnation, order = '0', data = ''] = name.split('\0') as [
    string,
    string,
    string?,
    string?,
  ];
  return { userId, incarnation: Number(incarnation), order: Number(order), data };
}

export function presenceName({
  userId,
  incarnation,
  region,
  connection,
}: Pick<PresenceUpdate, 'userId' | 'incarnation' | 'region' | 'connection'>): string {
  const name = `${holderName(userId, incarnation)}\0${regionName(region, REGION_NAME_MAX)}`;
  return connection === undefined ? name : `${name}\0${connection}`;
}

/** No two scopes have the same: a project's part has no colon. Braces in it may make several groups share a slot. */
function tagOf({ project, groupId }: PresenceScope): string {
  return `${projectTag(project)}:${groupId}`;
}

/** The number 7 and the text `7` are two projects. */
function projectTag(project: ProjectKey): string {
  if (typeof project === 'number') return `${project}`;
  return `"${project.replaceAll('%', '%25').replaceAll(':', '%3A')}`;
}
