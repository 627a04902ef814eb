import { isId, limits, type ValidationErrors } from '@rollcall/protocol';
import type { MembershipChange } from '../../store/ports/members.ts';
import type { Precondition } from '../../store/precondition.ts';
import type { PageRequest, TotalPage } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { groupConditionFailed, groupNotFound, requireFound, unknownUsers } from '../errors.ts';
import { ResourceService } from '../resource-service.ts';
import { andMore } from '../validation-error.ts';

/** Which users belong to which groups. */
export class MembershipService extends ResourceService<'members'> {
  /** @throws ServiceError `group_not_found` */
  async list(project: ProjectKey, id: string, page: PageRequest): Promise<TotalPage> {
    return requireFound(await this.store.members.list(project, id, page), () => groupNotFound(id));
  }

  /** Adds and removes. @throws ServiceError for an unknown group, unknown users among the added, a precondition */
  async change(
    writer: Writer,
    id: string,
    { add = [], remove = [] }: Partial<MembershipChange>,
    precondition: Precondition,
  ): Promise<void> {
    await this.writes.run(
      writer,
      (context) => this.store.members.change(writer.project, id, { add, remove }, context),
      {
        absent: () => groupNotFound(id),
        stale: () => groupConditionFailed(id),
        unknownUsers: ({ users }) => unknownUsers(users),
      },
      precondition,
    );
  }
}

/**
 * No user can be added and removed in one change. Accepts values of any type: the schema reports those that are no IDs, which
 * the message here does not repeat, because they may have megabytes.
 */
export function inspectMembersChange(
  change: { add?: unknown; remove?: unknown },
  errors: ValidationErrors,
): void {
  if (!Array.isArray(change.add) || !Array.isArray(change.remove)) return;
  const added = new Set(change.add);
  const both = [...new Set<string>(change.remove)].filter((id) => added.has(id) && isId(id));
  if (both.length === 0) return;
  const named = both.slice(0, limits.PROBLEMS_NAMED);
  const text = `${named.join(', ')}${andMore(both.length - named.length)}`;
  errors.invalid.add('remove', `users that are not in add; in both: ${text}`);
}
