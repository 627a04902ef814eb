import { type Findings, limits } from '@rollcall/protocol';
import type {
  MembershipChange,
  PageRequest,
  Precondition,
  ProjectKey,
  Store,
  TotalPage,
} from '../store/store.ts';
import { afterCommit } from './after-commit.ts';
import type { GroupDependencies } from './group-service.ts';
import { type GroupNoun, groupNotFound, preconditionFailed, unknownUsers } from './refusals.ts';
import { writeContext } from './write-context.ts';

/** Which users belong to which groups. */
export class MembershipService {
  readonly #store: Store;
  readonly #dependencies: GroupDependencies;

  constructor(dependencies: GroupDependencies) {
    this.#store = dependencies.store;
    this.#dependencies = dependencies;
  }

  /** @throws ServiceError `group_not_found` */
  async list(project: ProjectKey, noun: GroupNoun, id: string, page: PageRequest): Promise<TotalPage> {
    const members = await this.#store.listMembers(project, id, page);
    if (members === null) throw groupNotFound(noun, id);
    return members;
  }

  /** Adds and removes. @throws ServiceError for an unknown group, unknown users among the added, a precondition */
  async change(
    project: ProjectKey,
    noun: GroupNoun,
    id: string,
    { add = [], remove = [] }: Partial<MembershipChange>,
    precondition: Precondition,
  ): Promise<void> {
    const context = writeContext(this.#dependencies.clock, precondition);
    const outcome = await this.#store.changeMembers(project, id, { add, remove }, context);
    switch (outcome.kind) {
      case 'absent':
        throw groupNotFound(noun, id);
      case 'stale':
        throw preconditionFailed(`${noun} ${id}`);
      case 'unknownUsers':
        throw unknownUsers(outcome.users);
    }
    await afterCommit(this.#dependencies, project, outcome.effects);
  }
}

/** Nobody can be added and removed in one change. Takes whatever arrived: lists of another type are found elsewhere. */
export function inspectMembersChange(change: { add?: unknown; remove?: unknown }, findings: Findings): void {
  if (!Array.isArray(change.add) || !Array.isArray(change.remove)) return;
  const added = new Set(change.add.filter((id) => typeof id === 'string'));
  const both = [...new Set<string>(change.remove)].filter((id) => added.has(id));
  if (both.length === 0) return;
  const named = both.slice(0, limits.PROBLEMS_NAMED).join(', ');
  const more = both.length > limits.PROBLEMS_NAMED ? ` and ${both.length - limits.PROBLEMS_NAMED} more` : '';
  findings.invalid.add('remove', `users that are not in add; in both: ${named}${more}`);
}
