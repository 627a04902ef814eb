/**
 * The Store: all durable data. It is a composition of small ports, one per resource; the prose of each
 * is its contract, and a suite in test/contract/store tests every driver against it.
 *
 * Rules for all ports
 * - **Atomic.** Each method is one atomic step, also when many callers race. No transaction is open between two calls.
 * - **Durable.** A write that resolves is committed and flushed. A write that rejects left nothing behind.
 * - **Read your writes.** A read that starts after a write resolved sees it, on this process.
 * - **Outcomes are values.** An error of the caller (unknown users, already there, stale) is a typed outcome, never an
 *   exception. A rejection means the engine failed: `StoreUnavailableError` when it cannot be
 *   reached now and the same call may succeed later, `ProjectGoneError`; anything else is a defect.
 * - **Changes.** The outcome of a write has what it changed, and the same is recorded in its transaction. A write that changes
 *   nothing has no changes; one that is rejected records none.
 * - **Time is an argument.** `now` is milliseconds since the epoch, and the driver reads no clock for the data.
 * - **The order of commits decides.** The clocks of two processes may differ, and a clock may be set back: a time that is
 *   stored never goes back with a later commit.
 * - **Order.** Lists are in ascending order of ID, by code point. A page starts after the entry with the ID `after`,
 *   which need not exist any more, so entries that come and go make no other appear twice or vanish; a page costs the
 *   same however deep it is.
 * - **JSON text.** `Json` values are JSON texts that the engine builds or stores; the caller never parses them.
 */

export interface Store {
  readonly customers: import('./ports/projects.ts').CustomerStore;
  readonly projects: import('./ports/projects.ts').ProjectStore;
  readonly sessions: import('./ports/sessions.ts').SessionStore;
  readonly groups: import('./ports/groups.ts').GroupStore;
  readonly members: import('./ports/members.ts').MemberStore;
  readonly users: import('./ports/users.ts').UserStore;
  readonly preferences: import('./ports/preferences.ts').PreferenceStore;
  readonly eligibility: import('./ports/eligibility.ts').EligibilityStore;
  readonly durablePresence: import('./ports/durable-presence.ts').DurablePresenceStore;
  readonly threads: import('./ports/threads.ts').ThreadStore;
  readonly messages: import('./ports/messages.ts').MessageStore;
  readonly conversationFeed: import('./ports/conversation-feed.ts').ConversationFeedStore;
  readonly batches: import('./ports/batches.ts').BatchStore;
  readonly transfer: import('./ports/transfer.ts').TransferStore;
  readonly changes: import('./ports/changes.ts').ChangeStore;
  readonly webhooks: import('./ports/webhooks.ts').WebhookStore;
  readonly webhookLeases: import('./ports/webhooks.ts').WebhookLeaseStore;

  /** Whether a read runs in this process: then caching its answer for a moment gains nothing. */
  readonly isInProcess: boolean;
  /** The durations, errors and queues of the driver: docs/metrics.md names them. Reading them calls no server. */
  readonly metrics: readonly import('../metrics/metric.ts').Metric[];
  /** Whether the engine answers. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Lets the writes under way finish and releases everything. Idempotent. */
  close(): Promise<void>;
}

/**
 * The methods of each port that write, whole transfers left out. The embedded driver runs them on its writer's thread, and the
 * contract suite compares what each of them records. The types of that driver hold the list against the ports.
 */
export const STORE_WRITES = {
  customers: ['create'],
  projects: ['create', 'rename', 'rotateSecret', 'delete'],
  sessions: ['serviceKey', 'create', 'revoke', 'removeExpired'],
  users: ['put', 'delete'],
  preferences: ['put'],
  groups: ['put', 'delete', 'connect'],
  members: ['change'],
  durablePresence: ['put', 'putMany'],
  threads: ['put', 'delete', 'markSeen'],
  messages: ['put', 'append', 'delete'],
  batches: ['apply'],
  changes: ['removeBefore'],
  webhooks: ['put', 'rotateSecret', 'replay', 'delete', 'log', 'advance'],
  webhookLeases: ['claim', 'renew'],
} as const satisfies { readonly [Port in keyof Store]?: readonly (keyof Store[Port])[] };
