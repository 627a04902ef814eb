import type { RecordFollower, RecordListener } from '../../core/changes/record-follower.ts';
import type { Clock } from '../../core/clock.ts';
import { CREDENTIALS_TOPIC } from '../../store/changes/change-topics.ts';
import type { ProjectKey } from '../../values/project-key.ts';

/**
 * A stream that is opened so soon after a revocation, in milliseconds, is checked: its token may have been verified before, because
 * verified tokens are cached for a second, and opening a stream takes time.
 */
const OPENING_MAX_MS = 10_000;

interface Parts {
  readonly record: RecordFollower;
  readonly clock: Clock;
}

interface Followed {
  streams: number;
  /** Whether revocations are complete from some time on, and all streams were checked since. */
  hasBegun: boolean;
  /** Streams that are opened before this time are checked. */
  checkUntil: number;
  readonly end: () => void;
}

/** These sessions of the project, or with null all its credentials, may have ended. */
type OnRevoked = (project: ProjectKey, sessionIds: ReadonlySet<string> | null) => void;

/**
 * What the record of changes has of the credentials of the projects with streams: revoked access tokens, another secret, the end
 * of the project. The Broker's messages of these come sooner, and can be lost.
 */
export class RecordedCredentials {
  readonly #parts: Parts;
  readonly #onRevoked: OnRevoked;
  readonly #projects = new Map<ProjectKey, Followed>();

  constructor(parts: Parts, onRevoked: OnRevoked) {
    this.#parts = parts;
    this.#onRevoked = onRevoked;
  }

  /** Follows the project until as many streams of it have ended. Whether the credentials of this one are to be checked. */
  opened(project: ProjectKey): boolean {
    const followed = this.#projects.get(project) ?? this.#follow(project);
    this.#projects.set(project, followed);
    followed.streams += 1;
    return this.#parts.clock.now() < followed.checkUntil;
  }

  ended(project: ProjectKey): void {
    const followed = this.#projects.get(project);
    if (followed === undefined) return;
    followed.streams -= 1;
    if (followed.streams > 0) return;
    followed.end();
    this.#projects.delete(project);
  }

  /** Call it about once a second. */
  tick(): void {
    for (const [project, followed] of this.#projects)
      if (!followed.hasBegun) void this.#begin(project, followed);
  }

  close(): void {
    for (const { end } of this.#projects.values()) end();
    this.#projects.clear();
  }

  #follow(project: ProjectKey): Followed {
    const listener: RecordListener = {
      onChanges: (_topic, { sessions, isSecretRotated }) =>
        this.#revoked(project, isSecretRotated ? null : sessions),
      onGap: () => this.#revoked(project, null),
    };
    const end = this.#parts.record.follow(project, [CREDENTIALS_TOPIC], listener);
    return { streams: 0, hasBegun: false, checkUntil: 0, end };
  }

  /** What was revoked before the record was followed is found by a check of all streams. Never rejects. */
  async #begin(project: ProjectKey, followed: Followed): Promise<void> {
    followed.hasBegun = true;
    try {
      await this.#parts.record.begun(project);
      this.#revoked(project, null);
    } catch {
      // The store is away. The next tick tries again.
      followed.hasBegun = false;
    }
  }

  #revoked(project: ProjectKey, sessionIds: ReadonlySet<string> | null): void {
    const followed = this.#projects.get(project);
    if (followed === undefined) return;
    followed.checkUntil = this.#parts.clock.now() + OPENING_MAX_MS;
    this.#onRevoked(project, sessionIds);
  }
}
