import type { ProjectKey } from '../values/project-key.ts';
import type { PresenceScope } from './presence-store.ts';

export class ScopedMap<Entry extends PresenceScope> {
  readonly #projects = new Map<ProjectKey, Map<string, Entry>>();

  find({ project, groupId }: PresenceScope): Entry | undefined {
    return this.#projects.get(project)?.get(groupId);
  }

  *all(): Generator<Entry> {
    for (const entries of this.#projects.values()) yield* entries.values();
  }

  of(project: ProjectKey): Iterable<Entry> {
    return this.#projects.get(project)?.values() ?? [];
  }

  add(entry: Entry): void {
    const entries = this.#projects.get(entry.project);
    if (entries === undefined) this.#projects.set(entry.project, new Map([[entry.groupId, entry]]));
    else entries.set(entry.groupId, entry);
  }

  remove({ project, groupId }: PresenceScope): void {
    const entries = this.#projects.get(project);
    entries?.delete(groupId);
    if (entries?.size === 0) this.#projects.delete(project);
  }

  removeProject(project: ProjectKey): void {
    this.#projects.delete(project);
  }

  clear(): void {
    this.#projects.clear();
  }
}
