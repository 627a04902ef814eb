import type { GroupWrite, Status } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { ListedById, Page, PageRequest } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type {
  Absent,
  AlreadyExists,
  DeleteOutcome,
  Stale,
  UnknownUsers,
  Updated,
  Written,
} from '../outcomes.ts';
import type { Revision } from '../precondition.ts';
import type { Stored } from '../stored-write.ts';
import type { IdList } from '../worker-threads/packed-ids.ts';
import type { ConditionalContext, WriteContext } from '../write-context.ts';

export interface GroupRecord {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly metadata: Json;
  readonly connectedToMessenger: boolean;
  readonly revision: Revision;
  /**
   * A JSON array of user IDs in ascending order; in pieces where it is long, all of one state of the group. The reader of
   * pieces reads them to the end or calls `return()` of their iterator: until then the engine retains that state.
   */
  readonly members: Json | AsyncIterable<Json>;
}

/** A write of a group; `members` are packed where a thread has read them from a large body. */
export type StoredGroupWrite = Omit<Stored<GroupWrite>, 'members'> & { readonly members?: IdList };

/** The group would be created and has no name. */
export type NameRequired = { readonly kind: 'nameRequired' };

export type PutGroupOutcome = Written | AlreadyExists | Stale | UnknownUsers | NameRequired;

export interface GroupStore {
  find(project: ProjectKey, id: string): Promise<GroupRecord | null>;
  exists(project: ProjectKey, id: string): Promise<boolean>;
  /** Entries have `id`, `name`, `status`, `metadata`, `connectedToMessenger`. */
  list(project: ProjectKey, page: PageRequest): Promise<Page>;
  /** The same entries of these groups, in order of ID; those that do not exist are left out. */
  listByIds(project: ProjectKey, ids: readonly string[]): Promise<ListedById>;
  /**
   * The same entries, from `after` to the end, in pages of at most `limit`: all of them of one state of the store. The
   * engine retains that state while pages are left, so the caller reads to the end or calls `return()`. Only a few
   * such lists are open at once; the others wait. A list that is read too slowly, or for too long, rejects with
   * `StoreUnavailableError`, as does one that would have to wait too long.
   */
  listAll(project: ProjectKey, page: PageRequest): AsyncGenerator<Page, void, void>;
  /**
   * Creates or updates: only what is supplied changes; `members` replaces the list. A group is created active. Packed
   * lists are the engine's from then on, and are unpacked and applied on a thread other than the caller's.
   */
  put(
    project: ProjectKey,
    id: string,
    write: StoredGroupWrite,
    context: ConditionalContext,
  ): Promise<PutGroupOutcome>;
  /** Removes the group with its memberships and durable presence; the users stay. */
  delete(project: ProjectKey, id: string, context: ConditionalContext): Promise<DeleteOutcome>;
  /**
   * Connects the group to a messenger workspace, or with null disconnects it. It is `updated`, with a new revision, when
   * what is read changes: whether the group is connected.
   */
  connect(
    project: ProjectKey,
    id: string,
    workspace: string | null,
    context: WriteContext,
  ): Promise<Updated | Absent>;
}
