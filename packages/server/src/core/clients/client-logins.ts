import { KeyedMutex } from '../../concurrency/keyed-mutex.ts';
import type { UserRecord } from '../../store/ports/users.ts';
import type { Precondition } from '../../store/precondition.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ClientDetails, ClientWriter } from '../caller.ts';
import { CLOCK_TOLERANCE_MS } from '../clock.ts';
import { userNotFound } from '../errors.ts';
import type { UserService } from '../roster/user-service.ts';
import { ServiceError } from '../service-error.ts';

/** Most tokens whose details are known to be applied. The details of another one are compared again, which does no harm. */
const MAX_REMEMBERED = 10_000;
/** Each lost race is another write of the same user. So many in a row are a defect. */
const ATTEMPTS_MAX = 20;

interface Parts {
  readonly store: Pick<Store, 'users'>;
  readonly users: UserService;
}

/**
 * The details of the user in a client token are applied once, by the first request with the token: the login. They are as
 * old as the token, so they do not replace what another request has changed since then, on no process.
 */
export class ClientLogins {
  readonly #parts: Parts;
  /** By fingerprint of the token, the oldest first. Concurrent requests wait for the same login. */
  readonly #logins = new Map<string, Promise<void>>();
  /** By user. Logins of one user at once would overtake each other again and again. */
  readonly #mutex = new KeyedMutex();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws ServiceError `user_not_found` for a user who is set deleted: no token activates a user */
  apply(writer: ClientWriter): Promise<void> {
    const { details } = writer;
    if (details === null) return Promise.resolve();
    const { fingerprint } = details;
    const known = this.#logins.get(fingerprint);
    if (known !== undefined) return known;
    const user = JSON.stringify([writer.project, writer.userId]);
    const login = this.#mutex.run(user, () => this.#login(writer, details));
    this.#remember(fingerprint, login);
    // A login that failed is repeated by the next request.
    login.catch(() => this.#logins.delete(fingerprint));
    return login;
  }

  #remember(fingerprint: string, login: Promise<void>): void {
    const [oldest] = this.#logins.keys();
    if (oldest !== undefined && this.#logins.size >= MAX_REMEMBERED) this.#logins.delete(oldest);
    this.#logins.set(fingerprint, login);
  }

  async #login(writer: ClientWriter, { write, signedAt }: ClientDetails): Promise<void> {
    const { project, userId } = writer;
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const user = await this.#parts.store.users.find(project, userId);
      if (user?.status === 'deleted') throw userNotFound(userId, 'is deleted');
      if (user !== null && isNewer(user, signedAt)) return;
      try {
        await this.#parts.users.put(writer, userId, write, unchangedSince(user));
        return;
      } catch (error) {
        // Another request was faster: its values are read first.
        if (!isOvertaken(error)) throw error;
      }
    }
    throw new StoreUnavailableError('a user is written more often than a login can follow');
  }
}

/** Beyond the difference that is allowed between the host's clock and ours. */
const isNewer = ({ updatedAt }: UserRecord, signedAt: number | null) =>
  signedAt !== null && updatedAt > signedAt + CLOCK_TOLERANCE_MS;

const unchangedSince = (user: UserRecord | null): Precondition =>
  user === null ? { ifNoneMatch: '*' } : { ifMatch: [user.revision] };

const isOvertaken = (error: unknown) =>
  error instanceof ServiceError && (error.code === 'user_already_exists' || error.status === 412);
