import type { Status, UserWrite } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { ListedById, PageRequest, TotalPage } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { AlreadyExists, DeleteOutcome, Stale, Written } from '../outcomes.ts';
import type { Revision } from '../precondition.ts';
import type { Stored } from '../stored-write.ts';
import type { ConditionalContext } from '../write-context.ts';

export interface UserRecord {
  readonly id: string;
  readonly name: string | null;
  readonly shortName: string | null;
  readonly email: string | null;
  readonly profilePictureUrl: string | null;
  readonly status: Status;
  readonly metadata: Json;
  readonly createdAt: number;
  /** Never goes back: a write makes it the later of `now` and what it was. */
  readonly updatedAt: number;
  readonly revision: Revision;
}

/** What others see of a user. */
export type Profile = Pick<UserRecord, 'name' | 'profilePictureUrl'>;

export type StoredUserWrite = Stored<UserWrite>;

export type PutUserOutcome = Written | AlreadyExists | Stale;

export interface UserStore {
  find(project: ProjectKey, id: string): Promise<UserRecord | null>;
  /** Entries are whole users as the API shows them. */
  list(project: ProjectKey, page: PageRequest): Promise<TotalPage>;
  /** The same entries of these users, in order of ID; those who do not exist are left out. */
  listByIds(project: ProjectKey, ids: readonly string[]): Promise<ListedById>;
  /** Creates or updates: only what is supplied changes. `""` and null clear. A user is created active. */
  put(
    project: ProjectKey,
    id: string,
    write: StoredUserWrite,
    context: ConditionalContext,
  ): Promise<PutUserOutcome>;
  /** Removes the user with memberships, preferences and durable presence. */
  delete(project: ProjectKey, id: string, context: ConditionalContext): Promise<DeleteOutcome>;
}
