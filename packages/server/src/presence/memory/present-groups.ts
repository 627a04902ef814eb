import type { ProjectKey } from '../../store/store.ts';
import type { PresenceScope } from '../presence-store.ts';
import type { PresentGroup } from './present-group.ts';

/** The groups in which somebody is present, by project. */
export class PresentGroups {
  readonly #projects = new Map<ProjectKey, Map<string, PresentGroup>>();

  find({ project, groupId }: PresenceScope): PresentGroup | undefined {
    return this.#projects.get(project)?.get(groupId);
  }

  of(project: ProjectKey): Iterable<PresentGroup> {
    return this.#projects.get(project)?.values() ?? [];
  }

  add(group: PresentGroup): void {
    const groups = this.#projects.get(group.project);
    if (groups === undefined) this.#projects.set(group.project, new Map([[group.groupId, group]]));
    else groups.set(group.groupId, group);
  }

  remove(group: PresentGroup): void {
    const groups = this.#projects.get(group.project);
    groups?.delete(group.groupId);
    if (groups?.size === 0) this.#projects.delete(group.project);
  }

  removeProject(project: ProjectKey): void {
    this.#projects.delete(project);
  }

  clear(): void {
    this.#projects.clear();
  }
}
