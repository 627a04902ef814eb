import type { ProjectKey } from '../../store/store.ts';
import type { PresenceEvent, PresenceScope, PresenceWatch, PresenceWatcher } from '../presence-store.ts';
import { GroupLog } from './group-log.ts';
import { ScopedMap } from './scoped-map.ts';

/**
 * The logs of the groups that are watched. Whatever looks for one and finds its lease run out ends it, so that no watch
 * that was silent for too long goes on as if it had missed nothing.
 */
export class GroupLogs {
  readonly #logs = new ScopedMap<GroupLog>();

  /** Tells those who watch the group, if anybody does. */
  append(scope: PresenceScope, event: PresenceEvent, now: number): void {
    this.find(scope, now)?.append(event);
  }

  find(scope: PresenceScope, now: number): GroupLog | undefined {
    if (this.#logs.isEmpty) return undefined;
    const log = this.#logs.find(scope);
    return log !== undefined && this.#isKept(log, now) ? log : undefined;
  }

  of(project: ProjectKey, now: number): GroupLog[] {
    return [...this.#logs.of(project)].filter((log) => this.#isKept(log, now));
  }

  watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): PresenceWatch {
    const log = this.find(scope, now) ?? this.#add(scope, now);
    log.renew(now);
    return log.watch(watcher, (time) => {
      if (this.#isKept(log, time)) log.renew(time);
    });
  }

  /** Forgets the groups that nobody watches any more. */
  sweep(now: number): void {
    for (const log of this.#logs.all()) this.#isKept(log, now);
  }

  clear(): void {
    this.#logs.clear();
  }

  #add(scope: PresenceScope, now: number): GroupLog {
    const log = new GroupLog(scope, now);
    this.#logs.add(log);
    return log;
  }

  #isKept(log: GroupLog, now: number): boolean {
    if (log.isWatched(now)) return true;
    // Another log may have taken its place since.
    if (this.#logs.find(log) === log) this.#logs.remove(log);
    log.end();
    return false;
  }
}
