import { limits } from '@rollcall/protocol';
import { type Precondition, type Store, StoreUnavailableError, type UserRecord } from '../store/store.ts';
import type { ClientCaller, ClientDetails } from './caller.ts';
import { userNotFound } from './refusals.ts';
import { ServiceError } from './service-error.ts';
import type { UserService } from './user-service.ts';

/** Tokens whose details are known to be applied. One that was forgotten is looked at again, which does no harm. */
const MAX_REMEMBERED = 10_000;
/** Each lost race is a write of the same user by somebody else; so many in a row are a fault of something. */
const ATTEMPTS_MAX = 20;
const TOLERANCE_MS = limits.CLOCK_TOLERANCE_SECONDS * 1_000;

interface Parts {
  readonly store: Store;
  readonly users: UserService;
}

/**
 * What a client token says of its user is applied once, at the login: by the first request with the token. It is as old
 * as the token, so a user who was changed since then by somebody else keeps what is newer, also when a token comes to a
 * process that has not seen it.
 */
export class ClientLogins {
  readonly #store: Store;
  readonly #users: UserService;
  /** By fingerprint of the token, in order of arrival. Requests that come together wait for the same login. */
  readonly #logins = new Map<string, Promise<void>>();
  /** The last login under way of each user. Together they would overtake each other again and again. */
  readonly #lines = new Map<string, Promise<void>>();

  constructor({ store, users }: Parts) {
    this.#store = store;
    this.#users = users;
  }

  /** @throws ServiceError `user_not_found` for a user who is set deleted: no token brings anybody back */
  apply(caller: ClientCaller): Promise<void> {
    const { details } = caller;
    if (details === null) return Promise.resolve();
    const { fingerprint } = details;
    const known = this.#logins.get(fingerprint);
    if (known !== undefined) return known;
    const login = this.#afterOthers(caller, details);
    this.#remember(fingerprint, login);
    // A login that failed is none.
    login.catch(() => this.#logins.delete(fingerprint));
    return login;
  }

  #remember(fingerprint: string, login: Promise<void>): void {
    const [oldest] = this.#logins.keys();
    if (oldest !== undefined && this.#logins.size >= MAX_REMEMBERED) this.#logins.delete(oldest);
    this.#logins.set(fingerprint, login);
  }

  /** In line with the other logins of the same user, however those end. */
  #afterOthers(caller: ClientCaller, details: ClientDetails): Promise<void> {
    const user = JSON.stringify([caller.project, caller.userId]);
    const start = () => this.#login(caller, details);
    const login = this.#lines.get(user)?.then(start, start) ?? start();
    this.#lines.set(user, login);
    const leave = () => {
      if (this.#lines.get(user) === login) this.#lines.delete(user);
    };
    login.then(leave, leave);
    return login;
  }

  async #login({ project, userId }: ClientCaller, { write, signedAt }: ClientDetails): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const user = await this.#store.findUser(project, userId);
      if (user?.status === 'deleted') throw userNotFound(userId, 'is deleted');
      if (user !== null && isNewer(user, signedAt)) return;
      try {
        await this.#users.put(project, userId, write, unchangedSince(user));
        return;
      } catch (error) {
        // Somebody was faster: what they wrote is looked at first.
        if (!isOvertaken(error)) throw error;
      }
    }
    throw new StoreUnavailableError('a user is written more often than a login can follow');
  }
}

/** Beyond the difference that is allowed between the host's clock and ours. */
const isNewer = ({ updatedAt }: UserRecord, signedAt: number | null) =>
  signedAt !== null && updatedAt > signedAt + TOLERANCE_MS;

const unchangedSince = (user: UserRecord | null): Precondition =>
  user === null ? { ifNoneMatch: '*' } : { ifMatch: [user.revision] };

const isOvertaken = (error: unknown) =>
  error instanceof ServiceError && (error.code === 'user_already_exists' || error.status === 412);
