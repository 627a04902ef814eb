/**
 * The Store: everything that must never be lost. This file is the contract; a driver implements it and the suite in
 * test/contract/store-contract.ts holds every driver to it.
 *
 * Rules for every operation
 * - **Atomic.** Each method is one atomic step, also when many callers race. There is no begin or commit to hold.
 * - **Durable.** A write that resolves is committed and flushed. A write that rejects left nothing behind.
 * - **Read your writes.** A read that starts after a write resolved sees it, on this process.
 * - **Outcomes are values.** What can go wrong by the caller's doing (unknown users, already there, stale) is a typed
 *   outcome, never an exception. A rejection means the engine failed: {@link StoreUnavailableError} when it cannot be
 *   reached now and the same call may succeed later, {@link ProjectGoneError}; anything else is a defect.
 * - **Time is an argument.** `now` is milliseconds since the epoch, and the driver reads no clock for the data.
 * - **The order of commits decides.** The clocks of two processes may differ, and a clock may be set back: a time that is
 *   stored never goes back with a later commit. A user's `updatedAt` becomes the later of `now` and what it was.
 * - **Order.** Lists are in ascending order of ID, by code point. A page starts after the entry with the ID `after`,
 *   which need not exist any more, so entries that come and go make no other appear twice or vanish; a page costs the
 *   same however deep it is.
 * - **JSON text.** `Json` values are JSON texts that the engine builds or keeps; the caller never parses them.
 */
import type {
  ChangeCounts,
  Findings,
  GroupWrite,
  NotificationChannels,
  Status,
  UserWrite,
} from '@rollcall/protocol';
import type { IdList } from './packed-ids.ts';

/** The store's own name of a project, taken from {@link ProjectRecord}; dead for good once the project is deleted. */
export type ProjectKey = string | number;

/** A JSON text. */
export type Json = string;

/** Names one state of a resource. Chosen by the caller of a write, new for every write; it changes when what a read returns changes. */
export type Revision = string;

/** The engine cannot be reached, or cannot write, right now. Nothing was applied. */
export class StoreUnavailableError extends Error {}

/** A write was asked for in a project that has been deleted since its key was read. Nothing was applied. */
export class ProjectGoneError extends Error {
  constructor() {
    super('the project was deleted');
  }
}

export interface CustomerRecord {
  readonly id: string;
  readonly secret: string;
  readonly name: string;
  readonly createdAt: number;
}

export interface ProjectRecord {
  readonly key: ProjectKey;
  readonly id: string;
  readonly customerId: string;
  readonly name: string;
  /** Tokens are signed with the current secret, or with the previous one until `previousValidUntil`. */
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousValidUntil: number | null;
  readonly createdAt: number;
}

/** An issued access token. */
export interface SessionRecord {
  readonly id: string;
  readonly project: ProjectRecord;
  readonly expiresAt: number;
  readonly revoked: boolean;
}

/** What the caller requires of the current state; checked inside the write. A list holds revisions; `*` is any. */
export interface Precondition {
  /** Go on only if the resource exists with one of these revisions. */
  readonly ifMatch?: '*' | readonly Revision[];
  /** Go on only if the resource does not exist, or (a list) has none of these revisions. */
  readonly ifNoneMatch?: '*' | readonly Revision[];
}

/** What every write is given. */
export interface WriteStamp {
  readonly now: number;
  readonly revision: Revision;
}

/**
 * What a write of one resource is given. Refusals come in this order: no name for a new group, unknown users, then the
 * precondition. Where `ifMatch` is given the write is no creation, so its absence is `stale` rather than a missing name.
 */
export interface WriteContext extends Precondition, WriteStamp {}

export interface PageRequest {
  /** The ID after which the page starts; null for the first page. */
  readonly after: string | null;
  /** 1 to 10,000. A driver may return fewer than asked for; only `last` tells whether more may follow. */
  readonly limit: number;
}

export interface Page {
  /** The entries as JSON objects joined with commas: what goes between `[` and `]`. */
  readonly items: Json;
  readonly count: number;
  /** The ID from which the next page starts, or null when nothing follows. */
  readonly last: string | null;
}

export interface TotalPage extends Page {
  readonly total: number;
}

export interface GroupRecord {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly metadata: Json;
  readonly connectedToMessenger: boolean;
  readonly revision: Revision;
  /**
   * A JSON array of user IDs in ascending order; in pieces where it is long, all of one state of the group. Whoever gets
   * pieces reads them to the end or calls `return()` of their iterator: until then the engine holds that state.
   */
  readonly members: Json | AsyncIterable<Json>;
}

export interface UserRecord {
  readonly id: string;
  readonly name: string | null;
  readonly shortName: string | null;
  readonly email: string | null;
  readonly profilePictureUrl: string | null;
  readonly status: Status;
  readonly metadata: Json;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly revision: Revision;
}

/** Some IDs of a set that may be large. */
export interface IdSample {
  readonly count: number;
  /** The first of them, at most 20, in the order in which the request names them. */
  readonly ids: readonly string[];
}

/** Users who stopped being members of a group by a write: whoever holds their presence there clears it. */
export interface Departure {
  readonly groupId: string;
  readonly userIds: readonly string[];
}

/**
 * What a write changed that concerns others than the caller. Of a batch that names somebody more than once, changes of
 * status are between before and after the whole batch; a departure may also be of somebody who is back by its end.
 */
export interface Effects {
  readonly departures: readonly Departure[];
  /** Users whose status went from active to deleted, and back. */
  readonly deactivated: readonly string[];
  readonly reactivated: readonly string[];
  /** Groups whose status went from active to deleted, and back. */
  readonly deactivatedGroups: readonly string[];
  readonly reactivatedGroups: readonly string[];
}

export type Written = { readonly kind: 'created' | 'updated' | 'unchanged'; readonly effects: Effects };
/** `ifNoneMatch: '*'` and the resource is there. */
export type AlreadyExists = { readonly kind: 'exists' };
/** Another precondition failed, among them `ifMatch` where nothing is there. */
export type Stale = { readonly kind: 'stale' };
/** The resource that the write is about is not there. */
export type Absent = { readonly kind: 'absent' };
export type UnknownUsers = { readonly kind: 'unknownUsers'; readonly users: IdSample };
/** The group would be created and has no name. */
export type NameRequired = { readonly kind: 'nameRequired' };

export type PutGroupOutcome = Written | AlreadyExists | Stale | UnknownUsers | NameRequired;
export type ChangeMembersOutcome = Written | Stale | Absent | UnknownUsers;
export type PutUserOutcome = Written | AlreadyExists | Stale;
export type DeleteOutcome = { readonly kind: 'deleted'; readonly effects: Effects } | Stale | Absent;

/** A write of a group; `members` are packed where a thread has read them from a large body. */
export type GroupChange = Omit<GroupWrite, 'members'> & { readonly members?: IdList };

/** Whom a write adds to a group and whom it removes; no user is in both lists. */
export interface MembershipChange {
  readonly add: IdList;
  readonly remove: IdList;
}

/**
 * A batch as it arrived: the bytes of the request, so that an engine can read them away from the event loop. They are the
 * engine's from then on: it may transfer them to a thread, and the caller must not use them again.
 */
export interface BatchRequest {
  readonly body: Uint8Array;
  /** Check and count, apply nothing. */
  readonly dryRun: boolean;
}

/** A reference of a batch that leads nowhere: `groups[7].members` names users who do not exist. */
export interface UnknownReference {
  readonly place: string;
  readonly users: IdSample;
}

export type BatchOutcome =
  | {
      readonly kind: 'applied';
      readonly users: ChangeCounts;
      readonly groups: ChangeCounts;
      readonly effects: Effects;
    }
  /** The body is not a JSON object; the message says why and is safe to show. */
  | { readonly kind: 'malformed'; readonly message: string }
  /** The body does not fit the schema; a group that would be created without a name is among `missing`. */
  | { readonly kind: 'misfit'; readonly findings: Pick<Findings, 'unexpected' | 'missing' | 'invalid'> }
  /** At most the first 20 items that name unknown users, and how many there are. */
  | {
      readonly kind: 'unknownUsers';
      readonly references: readonly UnknownReference[];
      readonly count: number;
    };

/**
 * Names one membership among all that a user ever has in a group: a user who leaves and becomes a member again has another
 * one, but for a chance of one in 2^31. Ephemeral presence belongs to the incarnation for which it was set. A whole number
 * from 0 to 2^31 - 1.
 */
export type Incarnation = number;

/** Whether a user may be present in a group: null where there is no such resource. */
export interface Standing {
  readonly user: Status | null;
  readonly group: Status | null;
  /** Of the membership; null where the user is no member. */
  readonly incarnation: Incarnation | null;
}

export interface StandingQuestion {
  readonly groupId: string;
  readonly userId: string;
  /** What the caller remembers of a user who was eligible: where that still holds, the engine has less to answer. */
  readonly incarnation?: Incarnation;
}

export interface DurablePresenceUpdate {
  readonly userId: string;
  readonly groupId: string;
  /** Canonical location text; one durable location is kept per user, group and region. */
  readonly region: Json;
  /** Canonical location text. */
  readonly location: Json;
}

/** Applied, or the standing that forbids it (checked in the same atomic step). */
export type DurablePresenceOutcome =
  | {
      readonly kind: 'set';
      /** What the region had before. */
      readonly previous: Json | null;
      /** The time that the location has. */
      readonly at: number;
      /** The latest time of the locations that ended because of a bound; null where none did. */
      readonly endedTo: number | null;
    }
  | { readonly kind: 'refused'; readonly standing: Standing };

export interface DurablePresence {
  readonly userId: string;
  readonly location: Json;
  /** When it was last updated. */
  readonly at: number;
}

/** Which locations a presence reading is about; null is all of them. */
export type LocationFilter = {
  /** The location asked for, canonical. */
  readonly location: Json;
  /** Also take locations that match it: those that have every pair of it, and more. */
  readonly partial: boolean;
} | null;

export interface Store {
  /** Whether a read is a look into this process: then nothing is gained by remembering for a moment what one said. */
  readonly isInProcess: boolean;

  /** Whether the engine answers. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Lets the writes under way finish and releases everything. Idempotent. */
  close(): Promise<void>;

  // Customers, projects and sessions

  /** True when created; an existing customer is left as it is. */
  createCustomer(customer: CustomerRecord): Promise<boolean>;
  findCustomer(id: string): Promise<CustomerRecord | null>;
  /** In order of ID. */
  listCustomers(): Promise<CustomerRecord[]>;
  /** Creates a project; `exists` when the ID is taken by any customer, `absent` when there is no such customer. */
  createProject(
    project: Pick<ProjectRecord, 'id' | 'customerId' | 'name' | 'secret' | 'createdAt'>,
  ): Promise<{ kind: 'created'; project: ProjectRecord } | AlreadyExists | Absent>;
  findProject(id: string): Promise<ProjectRecord | null>;
  /** The customer's projects, or with null everybody's, in order of ID. */
  listProjects(customerId: string | null): Promise<ProjectRecord[]>;
  /** False when there is no such project. */
  renameProject(project: ProjectKey, name: string): Promise<boolean>;
  /** The current secret becomes the previous one, valid until then. False when there is no such project. */
  rotateSecret(project: ProjectKey, secret: string, previousValidUntil: number): Promise<boolean>;
  /**
   * Removes the project and all of its data. From the moment this resolves its key is dead: writes with it reject with
   * {@link ProjectGoneError}, nobody gets it any more, and a new project may take its ID and starts empty. A driver may
   * remove the data later, so a reader that holds the key may see some of it for a while. False when there is no such
   * project.
   */
  deleteProject(project: ProjectKey): Promise<boolean>;

  /** The key that signs access tokens: made once per store, at random (64 bytes), the same for every process. */
  serviceKey(): Promise<Uint8Array>;
  /** A session of a project that is gone is never found. */
  createSession(session: { id: string; project: ProjectKey; expiresAt: number }): Promise<void>;
  /** Null also when its project is gone. */
  findSession(id: string): Promise<SessionRecord | null>;
  /** Idempotent. */
  revokeSession(id: string): Promise<void>;
  /** Forgets sessions that ended before `now`; one that ends at `now` may stay. */
  removeExpiredSessions(now: number): Promise<void>;

  // Groups

  findGroup(project: ProjectKey, id: string): Promise<GroupRecord | null>;
  groupExists(project: ProjectKey, id: string): Promise<boolean>;
  /** Entries have `id`, `name`, `status`, `metadata`, `connectedToMessenger`. */
  listGroups(project: ProjectKey, page: PageRequest): Promise<Page>;
  /**
   * The same entries, from `after` to the end, in pages of at most `limit`: all of them of one state of the store. The
   * engine retains that state while pages are left, so the caller reads to the end or calls `return()`. Only a few
   * such lists are open at once; the others wait. A list that is read too slowly, or for too long, rejects with
   * {@link StoreUnavailableError}, as does one that would have to wait too long.
   */
  listAllGroups(project: ProjectKey, page: PageRequest): AsyncGenerator<Page, void, void>;
  /**
   * Creates or updates: only what is supplied changes; `members` replaces the list. A group is born active. Packed lists
   * are the engine's from then on, and are unpacked and applied on a thread other than the caller's.
   */
  putGroup(
    project: ProjectKey,
    id: string,
    write: GroupChange,
    context: WriteContext,
  ): Promise<PutGroupOutcome>;
  /** Adds and removes; who is already there, or not there, is no error. Packed lists: see {@link putGroup}. */
  changeMembers(
    project: ProjectKey,
    id: string,
    change: MembershipChange,
    context: WriteContext,
  ): Promise<ChangeMembersOutcome>;
  /** Entries have `id`, `name`, `email`; null when there is no such group. */
  listMembers(project: ProjectKey, id: string, page: PageRequest): Promise<TotalPage | null>;
  /** Removes the group with its memberships and durable presence; the users stay. `departures` names its members. */
  deleteGroup(project: ProjectKey, id: string, context: WriteContext): Promise<DeleteOutcome>;
  /**
   * Connects the group to a messenger workspace, or with null disconnects it. False when there is no such group. The
   * revision changes with what is read: whether it is connected.
   */
  connectGroup(
    project: ProjectKey,
    id: string,
    workspace: string | null,
    stamp: WriteStamp,
  ): Promise<boolean>;

  // Users

  findUser(project: ProjectKey, id: string): Promise<UserRecord | null>;
  /** Entries are whole users as the API shows them. */
  listUsers(project: ProjectKey, page: PageRequest): Promise<TotalPage>;
  /** Creates or updates: only what is supplied changes. `""` and null clear. A user is born active. */
  putUser(project: ProjectKey, id: string, write: UserWrite, context: WriteContext): Promise<PutUserOutcome>;
  /** Removes the user with memberships, preferences and durable presence; `departures` names the groups they were in. */
  deleteUser(project: ProjectKey, id: string, context: WriteContext): Promise<DeleteOutcome>;
  /** The groups a user belongs to, deleted ones included: `id`, `name`, `status`. Null when there is no such user. */
  listUserGroups(project: ProjectKey, id: string, page: PageRequest): Promise<TotalPage | null>;

  /**
   * Applies a batch: users first, then groups, each list in order, all or nothing. The driver reads the body with
   * `readBatch` of store/batch-document.ts, which says what fits.
   */
  applyBatch(project: ProjectKey, batch: BatchRequest, stamp: WriteStamp): Promise<BatchOutcome>;

  // Preferences

  /** Null when there is no such user. */
  findPreferences(project: ProjectKey, userId: string): Promise<Required<NotificationChannels> | null>;
  /** Merges; false when there is no such user. */
  putPreferences(project: ProjectKey, userId: string, channels: NotificationChannels): Promise<boolean>;

  // Presence: what of it is durable, and who may be present

  standing(project: ProjectKey, groupId: string, userId: string): Promise<Standing>;
  /** The same for many at once (1,000 at most), in the order asked. */
  standings(project: ProjectKey, asked: readonly StandingQuestion[]): Promise<Standing[]>;
  /** Of these users, those who are active and members of the group, when the group is active too; in ascending order of ID. */
  presentable(
    project: ProjectKey,
    groupId: string,
    userIds: readonly string[],
  ): Promise<Map<string, Incarnation>>;
  /**
   * Sets the location of a region. Its time is `now`, or a millisecond after the user's latest one in the group where
   * that is later, so the latest location is the one of the last commit. (More than 1,000 updates a second of one user in
   * one group therefore run ahead of the clock.) Where the user then has more than the store's bounds
   * (durable-bounds.ts), the oldest locations end until the bounds hold, but never the one that was set.
   */
  putDurablePresence(
    project: ProjectKey,
    update: DurablePresenceUpdate,
    stamp: WriteStamp,
  ): Promise<DurablePresenceOutcome>;
  /**
   * For each user with durable presence that passes the filter, the latest of it; in ascending order of user ID,
   * after `after`, `limit` users or all that there are. Users set deleted are left out.
   */
  listDurablePresence(
    project: ProjectKey,
    groupId: string,
    filter: LocationFilter,
    page: PageRequest,
  ): Promise<DurablePresence[]>;
  /** The user's latest durable presence in the group, or null; also of a user who is set deleted. */
  findDurablePresence(project: ProjectKey, groupId: string, userId: string): Promise<DurablePresence | null>;

  // Moving to another engine

  /**
   * All that an export of users, groups and memberships does not carry, for another store's {@link carryIn}: customers
   * before projects, projects before what is in them. One state of the store, in pieces of at most 1,000 records.
   * Whoever stops early calls `return()` of the iterator.
   */
  carryOut(): AsyncIterable<readonly CarriedRecord[]>;
  /**
   * Writes records of another store, all or nothing. What is there already is replaced by the record, and the same
   * record twice changes nothing more. A session that was revoked here stays revoked, whatever its record says.
   * A durable location keeps its time; a user's imported locations may exceed the bounds until their next update. Records
   * of a project, group or user that is not there are left out and counted.
   */
  carryIn(records: readonly CarriedRecord[], stamp: WriteStamp): Promise<CarryCounts>;
}

/** What one store hands to another. Projects, groups and users are named by their IDs. */
export type CarriedRecord =
  /** The key that signs access tokens, in base64. */
  | { readonly type: 'serviceKey'; readonly key: string }
  | ({ readonly type: 'customer' } & CustomerRecord)
  | ({ readonly type: 'project' } & Omit<ProjectRecord, 'key'>)
  | {
      readonly type: 'session';
      readonly id: string;
      readonly projectId: string;
      readonly expiresAt: number;
      readonly revoked: boolean;
    }
  /** Only of users whose preferences are not the default. */
  | ({
      readonly type: 'preferences';
      readonly projectId: string;
      readonly userId: string;
    } & Required<NotificationChannels>)
  | {
      readonly type: 'workspace';
      readonly projectId: string;
      readonly groupId: string;
      readonly workspace: string;
    }
  | ({
      readonly type: 'durablePresence';
      readonly projectId: string;
      readonly at: number;
    } & DurablePresenceUpdate);

export interface CarryCounts {
  readonly written: number;
  /** Records whose project, group or user (or membership, for durable presence) is not there. */
  readonly skipped: number;
}
