import type { ProjectKey } from '../../values/project-key.ts';
import type { PresenceEvent, PresenceScope, PresenceWatch, PresenceWatcher } from '../presence-store.ts';
import { ScopedMap } from '../scoped-map.ts';
import { GroupLog } from './group-log.ts';

/**
 * The logs of watched groups. A log whose lease ran out is ended when it is next read, so that a watch which was not
 * renewed in time never continues as if it had missed nothing.
 */
export class GroupLogs {
  readonly #logs = new ScopedMap<GroupLog>();

  /** Does nothing where the group is not watched. */
  append(scope: PresenceScope, event: PresenceEvent, now: number): void {
    this.find(scope, now)?.append(event);
  }

  find(scope: PresenceScope, now: number): GroupLog | undefined {
    const log = this.#logs.find(scope);
    return log !== undefined && this.#isWatched(log, now) ? log : undefined;
  }

  of(project: ProjectKey, now: number): GroupLog[] {
    return [...this.#logs.of(project)].filter((log) => this.#isWatched(log, now));
  }

  watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): PresenceWatch {
    const log = this.find(scope, now) ?? this.#add(scope, now);
    log.renew(now);
    return log.watch(watcher, (time) => {
      if (this.#isWatched(log, time)) log.renew(time);
    });
  }

  /** Drops the logs whose lease ran out. */
  sweep(now: number): void {
    for (const log of this.#logs.all()) this.#isWatched(log, now);
  }

  clear(): void {
    this.#logs.clear();
  }

  #add(scope: PresenceScope, now: number): GroupLog {
    const log = new GroupLog(scope, now);
    this.#logs.add(log);
    return log;
  }

  #isWatched(log: GroupLog, now: number): boolean {
    if (log.isWatched(now)) return true;
    // Another log may have replaced it since.
    if (this.#logs.find(log) === log) this.#logs.remove(log);
    log.end();
    return false;
  }
}
