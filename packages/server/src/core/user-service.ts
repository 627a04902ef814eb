import type { UserWrite } from '@rollcall/protocol';
import type { PageRequest, Precondition, ProjectKey, Store, TotalPage, UserRecord } from '../store/store.ts';
import { afterCommit } from './after-commit.ts';
import type { GroupDependencies } from './group-service.ts';
import { preconditionFailed, userExists, userNotFound } from './refusals.ts';
import { writeContext } from './write-context.ts';

/** The rules of users. */
export class UserService {
  readonly #store: Store;
  readonly #dependencies: GroupDependencies;

  constructor(dependencies: GroupDependencies) {
    this.#store = dependencies.store;
    this.#dependencies = dependencies;
  }

  /** @throws ServiceError `user_not_found` */
  async find(project: ProjectKey, id: string): Promise<UserRecord> {
    const user = await this.#store.findUser(project, id);
    if (user === null) throw userNotFound(id);
    return user;
  }

  list(project: ProjectKey, page: PageRequest): Promise<TotalPage> {
    return this.#store.listUsers(project, page);
  }

  /** The groups a user belongs to. @throws ServiceError `user_not_found` */
  async listGroups(project: ProjectKey, id: string, page: PageRequest): Promise<TotalPage> {
    const groups = await this.#store.listUserGroups(project, id, page);
    if (groups === null) throw userNotFound(id);
    return groups;
  }

  /** Creates or updates, and says which. @throws ServiceError `user_already_exists`, or a precondition */
  async put(
    project: ProjectKey,
    id: string,
    write: UserWrite,
    precondition: Precondition,
  ): Promise<'created' | 'updated'> {
    const context = writeContext(this.#dependencies.clock, precondition);
    const outcome = await this.#store.putUser(project, id, write, context);
    if (outcome.kind === 'exists') throw userExists(id);
    if (outcome.kind === 'stale') throw preconditionFailed(`user ${id}`);
    await afterCommit(this.#dependencies, project, outcome.effects);
    return outcome.kind === 'created' ? 'created' : 'updated';
  }

  /** Removes the user for good, from all groups. @throws ServiceError `user_not_found`, or a precondition */
  async remove(project: ProjectKey, id: string, precondition: Precondition): Promise<void> {
    const context = writeContext(this.#dependencies.clock, precondition);
    const outcome = await this.#store.deleteUser(project, id, context);
    if (outcome.kind === 'absent') throw userNotFound(id);
    if (outcome.kind === 'stale') throw preconditionFailed(`user ${id}`);
    await afterCommit(this.#dependencies, project, outcome.effects);
  }
}
