import { Findings, Name } from '@rollcall/protocol';
import type { Logger } from 'pino';
import type { PresenceStore } from '../presence/presence-store.ts';
import type {
  GroupChange,
  GroupRecord,
  Page,
  PageRequest,
  Precondition,
  ProjectKey,
  Store,
} from '../store/store.ts';
import { afterCommit, afterGroupRemoval } from './after-commit.ts';
import type { Clock } from './clock.ts';
import { findingsError, type Misfit } from './findings-error.ts';
import { allChunks, CHUNK_ENTRIES, type Chunk } from './paging.ts';
import type { RecentStandings } from './recent-standings.ts';
import { type GroupNoun, groupExists, groupNotFound, preconditionFailed, unknownUsers } from './refusals.ts';
import { writeContext } from './write-context.ts';

export interface GroupDependencies {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly standings: RecentStandings;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The rules of groups. `noun` is the caller's word for a group, which messages and the not-found code repeat. */
export class GroupService {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #dependencies: GroupDependencies;

  constructor(dependencies: GroupDependencies) {
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#dependencies = dependencies;
  }

  /** @throws ServiceError `group_not_found` */
  async find(project: ProjectKey, noun: GroupNoun, id: string): Promise<GroupRecord> {
    const group = await this.#store.findGroup(project, id);
    if (group === null) throw groupNotFound(noun, id);
    return group;
  }

  list(project: ProjectKey, page: PageRequest): Promise<Page> {
    return this.#store.listGroups(project, page);
  }

  /** All groups after that ID, of one state of the store. Read to the end, or call `return()`. */
  listAll(project: ProjectKey, after: string | null): AsyncGenerator<Chunk<Page>, void, void> {
    return allChunks(this.#store.listAllGroups(project, { after, limit: CHUNK_ENTRIES }));
  }

  /** Creates or updates, and says which. @throws ServiceError for unknown members, a missing name, a precondition */
  async put(
    project: ProjectKey,
    noun: GroupNoun,
    id: string,
    write: GroupChange,
    precondition: Precondition,
  ): Promise<'created' | 'updated'> {
    const outcome = await this.#store.putGroup(project, id, write, writeContext(this.#clock, precondition));
    switch (outcome.kind) {
      case 'exists':
        throw groupExists(noun, id);
      case 'stale':
        throw preconditionFailed(`${noun} ${id}`);
      case 'unknownUsers':
        throw unknownUsers(outcome.users);
      case 'nameRequired':
        throw findingsError(withName(new Findings()));
    }
    await afterCommit(this.#dependencies, project, outcome.effects);
    return outcome.kind === 'created' ? 'created' : 'updated';
  }

  /**
   * Rejects a write that does not fit. Whether the name is missing depends on the group being there, and missing comes
   * before invalid, so the store is asked when only values are wrong. A caller who requires the group to be there
   * (`ifMatch`) is not creating it.
   */
  async refuse(
    project: ProjectKey,
    id: string,
    hasName: boolean,
    precondition: Precondition,
    misfit: Misfit,
  ): Promise<never> {
    const mayCreate = !hasName && precondition.ifMatch === undefined;
    if (mayCreate && misfit.unexpected.count === 0 && !(await this.#store.groupExists(project, id))) {
      throw findingsError(withName(misfit));
    }
    throw findingsError(misfit);
  }

  /** Removes the group for good; its users stay. @throws ServiceError `group_not_found`, or a precondition */
  async remove(project: ProjectKey, noun: GroupNoun, id: string, precondition: Precondition): Promise<void> {
    const outcome = await this.#store.deleteGroup(project, id, writeContext(this.#clock, precondition));
    if (outcome.kind === 'absent') throw groupNotFound(noun, id);
    if (outcome.kind === 'stale') throw preconditionFailed(`${noun} ${id}`);
    await afterGroupRemoval(this.#dependencies, project, id);
  }
}

function withName<M extends Misfit>(misfit: M): M {
  const { description } = Name as { readonly description?: string };
  misfit.missing.add('name', `${description}, to create it`);
  return misfit;
}
