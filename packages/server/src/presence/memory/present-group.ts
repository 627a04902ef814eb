import type { ProjectKey } from '../../values/project-key.ts';
import { IndexedDirectory } from './indexed-directory.ts';
import type { Directory, Lease, Presence, PresenceGroup } from './presence.ts';
import { SmallDirectory } from './small-directory.ts';

/**
 * Above the first number of presences they are indexed, below the second no longer. The numbers differ, so that no single
 * update converts every time. Maps double at powers of two, just above which they cost the most for each presence.
 */
const INDEXED_ABOVE = 24;
const SMALL_BELOW = 12;

/** How many presences there are in all groups, and how many groups have any. */
export interface Tally {
  presences: number;
  groups: number;
}

/** A group with at least one presence or lease. */
export class PresentGroup implements PresenceGroup {
  readonly project: ProjectKey;
  readonly groupId: string;
  readonly #tally: Tally;
  #directory: Directory = new SmallDirectory();
  #leases: Map<string, Lease> | null = null;

  constructor(project: ProjectKey, groupId: string, tally: Tally) {
    this.#tally = tally;
    this.project = project;
    this.groupId = groupId;
  }

  get directory(): Directory {
    return this.#directory;
  }

  get leases(): Map<string, Lease> {
    this.#leases ??= new Map();
    return this.#leases;
  }

  get isEmpty(): boolean {
    return this.#directory.size === 0 && (this.#leases === null || this.#leases.size === 0);
  }

  add(presence: Presence): void {
    this.#directory.add(presence);
    this.#tally.presences += 1;
    if (this.#directory.size === 1) this.#tally.groups += 1;
    if (this.#directory.size > INDEXED_ABOVE && this.#directory instanceof SmallDirectory) {
      this.#moveTo(new IndexedDirectory());
    }
  }

  remove(presence: Presence): void {
    this.#directory.remove(presence);
    this.#tally.presences -= 1;
    if (this.#directory.size === 0) this.#tally.groups -= 1;
    if (this.#directory.size < SMALL_BELOW && this.#directory instanceof IndexedDirectory) {
      this.#moveTo(new SmallDirectory());
    }
  }

  /** The group is dropped with all of its presences. */
  dropped(): void {
    this.#tally.presences -= this.#directory.size;
    if (this.#directory.size > 0) this.#tally.groups -= 1;
  }

  #moveTo(directory: Directory): void {
    for (const presence of this.#directory.all()) directory.add(presence);
    this.#directory = directory;
  }
}
