import type { ProjectKey } from '../../store/store.ts';
import type { PresenceScope } from '../presence-store.ts';
import type { Directory } from './directory.ts';
import { IndexedDirectory } from './indexed-directory.ts';
import type { Presence } from './presence.ts';
import { SmallDirectory } from './small-directory.ts';

/**
 * Above how many presences they are indexed, and below how few no longer; apart, so that no update converts every time.
 * Maps double at powers of two, just above which they would cost the most for each presence.
 */
const INDEXED_ABOVE = 24;
const SMALL_BELOW = 12;

/** A group in which somebody is present. */
export class PresentGroup implements PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
  #directory: Directory = new SmallDirectory();

  constructor(project: ProjectKey, groupId: string) {
    this.project = project;
    this.groupId = groupId;
  }

  get directory(): Directory {
    return this.#directory;
  }

  get isEmpty(): boolean {
    return this.#directory.size === 0;
  }

  add(presence: Presence): void {
    this.#directory.add(presence);
    if (this.#directory.size > INDEXED_ABOVE && this.#directory instanceof SmallDirectory) {
      this.#moveTo(new IndexedDirectory());
    }
  }

  remove(presence: Presence): void {
    this.#directory.remove(presence);
    if (this.#directory.size < SMALL_BELOW && this.#directory instanceof IndexedDirectory) {
      this.#moveTo(new SmallDirectory());
    }
  }

  #moveTo(directory: Directory): void {
    for (const presence of this.#directory.all()) directory.add(presence);
    this.#directory = directory;
  }
}
