import type { ProjectKey } from '../../values/project-key.ts';
import type { Absent, Updated, Written } from '../outcomes.ts';
import type { WriteContext } from '../write-context.ts';
import type { ProjectRecord } from './projects.ts';

/** An issued access token. */
interface SessionRecord {
  readonly id: string;
  readonly project: ProjectRecord;
  readonly expiresAt: number;
  readonly revoked: boolean;
}

interface NewSession {
  readonly id: string;
  readonly expiresAt: number;
}

/** Access tokens, one session each, and the key that signs them. */
export interface SessionStore {
  /** The key that signs access tokens: made once per store, at random (64 bytes), the same for every process. */
  serviceKey(): Promise<Uint8Array>;
  /** `absent` when the project is gone: nothing is created. */
  create(project: ProjectKey, session: NewSession, context: WriteContext): Promise<Written | Absent>;
  /** Null also when its project is gone. */
  find(id: string): Promise<SessionRecord | null>;
  /** Of a session of the project; `unchanged` when there is none, when it is revoked, or when the project is gone. */
  revoke(project: ProjectKey, id: string, context: WriteContext): Promise<Updated>;
  /**
   * Removes sessions that ended before `now`, some at a time: true when more may be left. The first of them to end are removed first;
   * one that ends at `now` may stay.
   */
  removeExpired(now: number): Promise<boolean>;
}
