import type { UserWrite } from '@rollcall/protocol';
import type { UserRecord } from '../../store/ports/users.ts';
import type { Precondition } from '../../store/precondition.ts';
import { toStored } from '../../store/stored-write.ts';
import type { ListedById, PageRequest, TotalPage } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { requireFound, userConditionFailed, userExists, userNotFound } from '../errors.ts';
import { ResourceService } from '../resource-service.ts';

export class UserService extends ResourceService<'users' | 'members'> {
  /** @throws ServiceError `user_not_found` */
  async find(project: ProjectKey, id: string): Promise<UserRecord> {
    return requireFound(await this.store.users.find(project, id), () => userNotFound(id));
  }

  list(project: ProjectKey, page: PageRequest): Promise<TotalPage> {
    return this.store.users.list(project, page);
  }

  listByIds(project: ProjectKey, ids: readonly string[]): Promise<ListedById> {
    return this.store.users.listByIds(project, ids);
  }

  /** The groups a user belongs to. @throws ServiceError `user_not_found` */
  async listGroups(project: ProjectKey, id: string, page: PageRequest): Promise<TotalPage> {
    return requireFound(await this.store.members.listGroups(project, id, page), () => userNotFound(id));
  }

  /** Creates or updates, and returns which. @throws ServiceError `user_already_exists`, or a precondition */
  async put(
    writer: Writer,
    id: string,
    write: UserWrite,
    precondition: Precondition,
  ): Promise<'created' | 'updated'> {
    const { kind } = await this.writes.run(
      writer,
      (context) => this.store.users.put(writer.project, id, toStored(write), context),
      { exists: () => userExists(id), stale: () => userConditionFailed(id) },
      precondition,
    );
    return kind === 'created' ? 'created' : 'updated';
  }

  /** Removes the user for good, from all groups. @throws ServiceError `user_not_found`, or a precondition */
  async remove(writer: Writer, id: string, precondition: Precondition): Promise<void> {
    await this.writes.run(
      writer,
      (context) => this.store.users.delete(writer.project, id, context),
      { absent: () => userNotFound(id), stale: () => userConditionFailed(id) },
      precondition,
    );
  }
}
