import { type GroupWrite, Name } from '@rollcall/protocol';
import type { GroupRecord, StoredGroupWrite } from '../../store/ports/groups.ts';
import type { Precondition } from '../../store/precondition.ts';
import { toStored } from '../../store/stored-write.ts';
import type { ListedById, Page, PageRequest } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { groupConditionFailed, groupExists, groupNotFound, requireFound, unknownUsers } from '../errors.ts';
import { allChunks, CHUNK_ENTRIES, type Chunk } from '../paging.ts';
import { ResourceService } from '../resource-service.ts';
import { requiredToCreate } from '../validation-error.ts';

/** A write of a group as it is received; long lists of members are packed. */
export type GroupInput = Omit<GroupWrite, 'members'> & Pick<StoredGroupWrite, 'members'>;

/** The fields without which no group is made. */
export const GROUP_REQUIRED = { name: String(Name.description) };

export class GroupService extends ResourceService<'groups'> {
  /** @throws ServiceError `group_not_found` */
  async find(project: ProjectKey, id: string): Promise<GroupRecord> {
    return requireFound(await this.store.groups.find(project, id), () => groupNotFound(id));
  }

  list(project: ProjectKey, page: PageRequest): Promise<Page> {
    return this.store.groups.list(project, page);
  }

  listByIds(project: ProjectKey, ids: readonly string[]): Promise<ListedById> {
    return this.store.groups.listByIds(project, ids);
  }

  /** All groups after that ID, of one state of the store. Read to the end, or call `return()`. */
  listAll(project: ProjectKey, after: string | null): AsyncGenerator<Chunk<Page>, void, void> {
    return allChunks(this.store.groups.listAll(project, { after, limit: CHUNK_ENTRIES }));
  }

  /** Creates or updates, and returns which. @throws ServiceError for unknown members, a missing name, a precondition */
  async put(
    writer: Writer,
    id: string,
    write: GroupInput,
    precondition: Precondition,
  ): Promise<'created' | 'updated'> {
    const { kind } = await this.writes.run(
      writer,
      (context) => this.store.groups.put(writer.project, id, toStored(write), context),
      {
        exists: () => groupExists(id),
        stale: () => groupConditionFailed(id),
        unknownUsers: ({ users }) => unknownUsers(users),
        nameRequired: () => requiredToCreate(GROUP_REQUIRED),
      },
      precondition,
    );
    return kind === 'created' ? 'created' : 'updated';
  }

  exists(project: ProjectKey, id: string): Promise<boolean> {
    return this.store.groups.exists(project, id);
  }

  /** Removes the group for good; its users stay. @throws ServiceError `group_not_found`, or a precondition */
  async remove(writer: Writer, id: string, precondition: Precondition): Promise<void> {
    await this.writes.run(
      writer,
      (context) => this.store.groups.delete(writer.project, id, context),
      { absent: () => groupNotFound(id), stale: () => groupConditionFailed(id) },
      precondition,
    );
  }
}
