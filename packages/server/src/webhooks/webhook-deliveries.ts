import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Broker } from '../broker/broker.ts';
import { ProjectsInUse } from '../broker/projects-in-use.ts';
import { Repeated } from '../concurrency/repeated.ts';
import type { ChangeFeed } from '../core/changes/change-feed.ts';
import type { StoreWrites } from '../core/changes/store-writes.ts';
import type { Clock } from '../core/clock.ts';
import { Counter, type Metric, readMetrics } from '../metrics/metric.ts';
import type { ClaimedWebhook, WebhookWork } from '../store/ports/webhooks.ts';
import type { Store } from '../store/store.ts';
import { PROCESS_CLOCK_TOLERANCE_MS } from '../values/clock-tolerance.ts';
import { ProjectGoneError } from '../values/engine-errors.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { AttemptSender } from './attempt-sender.ts';
import { DeliveryWriter } from './delivery-writer.ts';
import { RunCapacity } from './run-capacity.ts';
import { type RunParts, WebhookRun } from './webhook-run.ts';

/** How often work is searched for in all projects, and leases are renewed, in milliseconds. */
const SWEEP_MS = 2_000;
/** How long a lease lasts after its last renewal: another process takes over some 8 s after this one was killed. */
const LEASE_MS = 6_000;
/** How long a lease is used after its last renewal: the clock of the process that claims next may be ahead. */
const LEASE_USED_MS = LEASE_MS - PROCESS_CLOCK_TOLERANCE_MS;
/** How long projects with new changes are collected for one claim, in milliseconds. */
const COLLECT_MS = 20;
/** Most webhooks that one claim leases. */
const CLAIMED_AT_ONCE = 50;
/** Deliveries that are repeated later than this are found by a sweep, in milliseconds. */
const TIMER_MAX_MS = 60_000;
/** How long the attempts under way may take when the process stops, in milliseconds. */
const STOP_MS = 2_000;

/** What active webhooks have to send, in all projects. */
type WebhookBacklog = Readonly<Record<'active' | 'behind' | 'resting' | 'furthest', number>>;

interface Parts {
  readonly store: Pick<Store, 'webhooks' | 'webhookLeases'>;
  readonly changes: ChangeFeed;
  readonly broker: Broker;
  readonly writes: StoreWrites;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sender: AttemptSender;
}

/**
 * Delivers for the webhooks that this process has leased. Work is found by one statement in each interval; in between, only
 * the projects whose changes this process has ordered are searched, and webhooks that are leased read on when their project changes.
 * A webhook without anything to send costs no statement of its own.
 *
 * Bounded by {@link RunCapacity}: webhooks at once, those of them that have failed before, and the memory of their deliveries.
 */
export class WebhookDeliveries {
  readonly #parts: Parts;
  readonly #runParts: RunParts;
  readonly #stopSweeps: () => void;
  readonly #unsubscribe: () => void;
  readonly #projects: ProjectsInUse;
  readonly #capacity = new RunCapacity();
  readonly #runs = new Map<WebhookRun, Promise<void>>();
  /** The projects with active webhooks. */
  #active = new Set<ProjectKey>();
  readonly #woken = new Set<ProjectKey>();
  /** One search at a time: what becomes due meanwhile is searched for afterwards. */
  readonly #searches = new Repeated(() => this.#search());
  /** The timers of deliveries that are repeated soon. */
  readonly #repeats = new Set<NodeJS.Timeout>();
  #isAllDue = false;
  #isStopped = false;
  #backlog: WebhookBacklog | null = null;
  readonly #attempts = new Counter({
    name: 'rollcall_webhook_attempts_total',
    help: 'Attempts to deliver to webhooks',
  });
  readonly #acknowledged = this.#attempts.series({ outcome: 'acknowledged' });
  readonly #failed = this.#attempts.series({ outcome: 'failed' });
  readonly metrics: readonly Metric[] = [
    this.#attempts,
    ...readMetrics({
      rollcall_webhooks_leased: ['Webhooks that this process delivers for now', () => this.#runs.size],
      rollcall_webhooks_behind_records: [
        'Records of changes that the webhook furthest behind has not sent',
        () => this.#backlog?.furthest ?? [],
      ],
    }),
  ];

  constructor(parts: Parts) {
    this.#parts = parts;
    const { store, changes, writes, clock, log, sender, broker } = parts;
    this.#runParts = {
      ...{ store, writes, clock, log, sender },
      writer: new DeliveryWriter(changes, clock),
      attempted: ({ isAcknowledged }) => {
        (isAcknowledged ? this.#acknowledged : this.#failed).value += 1;
      },
      repeats: (dueAt) => this.#wakeAt(dueAt),
    };
    this.#stopSweeps = clock.every(SWEEP_MS, () => this.#sweep());
    this.#projects = new ProjectsInUse(broker, 'changes');
    this.#unsubscribe = broker.subscribe((change) => {
      if (change.type === 'changes') this.#notify(change.project, change.position);
    });
    this.#sweep();
  }

  /** The work of all projects, as of the last sweep; null where that could not read it. */
  get backlog(): WebhookBacklog | null {
    return this.#backlog;
  }

  /** This process has given changes of these projects their positions: it searches for webhooks without a lease. */
  ordered(projects: Iterable<ProjectKey>): void {
    for (const project of projects) if (this.#active.has(project)) this.#woken.add(project);
    if (this.#woken.size > 0) this.#wake();
  }

  /** A webhook of the project was created, or may have become due. */
  changed(project: ProjectKey): void {
    this.#active.add(project);
    this.#woken.add(project);
    this.#wake();
  }

  /** Lets the attempts under way finish for a moment, and gives back the leases. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopSweeps();
    this.#unsubscribe();
    this.#projects.close();
    for (const timer of this.#repeats) clearTimeout(timer);
    await this.#searches.close();
    for (const run of this.#runs.keys()) run.end();
    const abort = setTimeout(() => {
      for (const run of this.#runs.keys()) run.abort();
    }, STOP_MS);
    await Promise.all(this.#runs.values());
    clearTimeout(abort);
  }

  #notify(project: ProjectKey, position: number): void {
    for (const run of this.#runs.keys()) if (run.webhook.project === project) run.notify(position);
  }

  #sweep(): void {
    for (const { webhook } of this.#runs.keys()) this.#projects.use(webhook.project);
    this.#projects.tick();
    this.#isAllDue = true;
    void this.#searches.request();
  }

  #wake(): void {
    this.#searches.requestAfter(COLLECT_MS);
  }

  /** Long delays are left to the sweeps, so that the timers are those of the failures of a minute. */
  #wakeAt(dueAt: number): void {
    const delay = dueAt - this.#parts.clock.now();
    if (this.#isStopped || delay > TIMER_MAX_MS) return;
    const timer = setTimeout(
      () => {
        this.#repeats.delete(timer);
        this.#isAllDue = true;
        this.#wake();
      },
      Math.max(0, delay),
    ).unref();
    this.#repeats.add(timer);
  }

  async #search(): Promise<void> {
    const isAll = this.#isAllDue;
    const woken = [...this.#woken];
    this.#isAllDue = false;
    this.#woken.clear();
    try {
      if (isAll) await this.#searchAll();
      await this.#claim(woken);
    } catch (err) {
      if (isAll) this.#backlog = null;
      this.#parts.log.error(
        { err },
        'webhooks could not be searched for due deliveries; the next sweep searches again',
      );
    }
  }

  async #searchAll(): Promise<void> {
    const { store, clock } = this.#parts;
    await this.#renew();
    const work = await store.webhookLeases.work({ now: clock.now(), own: this.#own() });
    this.#backlog = backlogOf(work);
    this.#active = new Set(work.map(({ project }) => project));
    // Where there is not capacity for all, every project has its chance.
    await this.#claim(shuffled(work.filter(({ isDue }) => isDue).map(({ project }) => project)));
  }

  /** The tokens of the leases that this process has. */
  #own(): string[] {
    return [...this.#runs.keys()].map(({ webhook }) => webhook.lease);
  }

  /** A run whose lease was ended, also by the deletion of its project, or taken over by another process, ends. */
  async #renew(): Promise<void> {
    const runs = [...this.#runs.keys()];
    if (runs.length === 0) return;
    const { store, clock } = this.#parts;
    const until = performance.now() + LEASE_USED_MS;
    const leases = runs.map(({ webhook: { project, id, lease } }) => ({ project, id, lease }));
    const renewed = new Set(await store.webhookLeases.renew(leases, clock.now() + LEASE_MS));
    for (const run of runs) {
      if (renewed.has(run.webhook.lease)) run.renewed(until);
      else run.abort();
    }
  }

  /** Leases what these projects have to send, as much as there is capacity for. */
  async #claim(projects: readonly ProjectKey[]): Promise<void> {
    if (projects.length === 0) return;
    for (let isComplete = false; !isComplete && !this.#isStopped; ) {
      const { limit, hasRepeats } = this.#capacity.free(this.#runs.keys(), CLAIMED_AT_ONCE);
      if (limit === 0) return;
      const leases = Array.from({ length: limit }, () => randomUUID());
      const { store, clock } = this.#parts;
      const now = clock.now();
      const until = performance.now() + LEASE_USED_MS;
      const claim = { now, until: now + LEASE_MS, leases, own: this.#own(), hasRepeats };
      const claimed = await store.webhookLeases.claim(projects, claim);
      for (const webhook of claimed) this.#start(webhook, until);
      isComplete = claimed.length < limit;
    }
  }

  #start(webhook: ClaimedWebhook, leasedUntil: number): void {
    this.#projects.use(webhook.project);
    const run = new WebhookRun(webhook, leasedUntil, this.#runParts);
    const ended = run.run().catch((err: unknown) => {
      if (err instanceof ProjectGoneError) return;
      this.#parts.log.error({ err }, 'a webhook could not be delivered to; it is tried again');
    });
    this.#runs.set(
      run,
      ended.then(() => this.#ended(run)),
    );
  }

  #ended(run: WebhookRun): void {
    this.#runs.delete(run);
    // No run was notified of changes that were recorded while this one ended, and others may wait for the capacity.
    this.changed(run.webhook.project);
    if (this.#capacity.wasShort) this.#isAllDue = true;
  }
}

function backlogOf(work: readonly WebhookWork[]): WebhookBacklog {
  const sum = (part: (one: WebhookWork) => number) => work.reduce((total, one) => total + part(one), 0);
  return {
    active: sum(({ active }) => active),
    behind: sum(({ behind }) => behind),
    resting: sum(({ resting }) => resting),
    furthest: work.reduce((most, { furthest }) => Math.max(most, furthest), 0),
  };
}

function shuffled<Item>(items: Item[]): Item[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [items[last], items[other]] = [items[other] as Item, items[last] as Item];
  }
  return items;
}
