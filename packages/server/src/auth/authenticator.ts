import type { ErrorCode } from '@rollcall/protocol';
import type { Broker } from '../broker/broker.ts';
import type { Caller, CustomerCaller } from '../core/caller.ts';
import type { Clock } from '../core/clock.ts';
import { tokenFailure } from '../core/token-failure.ts';
import type { Store } from '../store/store.ts';
import { accessTokenResolver } from './access-token.ts';
import { bearerToken } from './bearer.ts';
import { refuseClientToken } from './client-token.ts';
import { customerTokenResolver } from './customer-token.ts';
import type { Jwt } from './jwt.ts';
import { APP_TOKEN, PROJECT_TOKEN, projectTokenResolver } from './project-token.ts';
import type { Resolver, Verified } from './resolver.ts';
import { VerifiedCache } from './verified-cache.ts';

export interface Authenticator {
  /**
   * Who calls a data endpoint: a project, app or access token opens it. Answers at once, without a promise, for a
   * header that was verified less than a second ago.
   * @throws ServiceError 401 with the code of the contract's section 7 (a rejection)
   */
  authenticate(header: string | undefined): Caller | Promise<Caller>;
  /** Who calls `/v1/projects`: only a customer token opens it. @throws ServiceError 401 (a rejection) */
  authenticateCustomer(header: string | undefined): CustomerCaller | Promise<CustomerCaller>;
  /** Stops listening to the broker and forgets what was verified. Idempotent. */
  close(): void;
}

interface Parts {
  readonly store: Store;
  readonly broker: Broker;
  readonly clock: Clock;
}

/** Reads the Authorization header of every request. Changes told by the broker take effect at once, others in a second. */
export function createAuthenticator({ store, broker, clock }: Parts): Authenticator {
  const cache = new VerifiedCache<Caller>();
  const unsubscribe = broker.subscribe(() => cache.clear());
  const dataKinds = [
    refuseClientToken,
    projectTokenResolver(store, PROJECT_TOKEN),
    projectTokenResolver(store, APP_TOKEN),
    accessTokenResolver(store),
  ];
  const customerKinds = [customerTokenResolver(store)];

  async function verify(header: string | undefined): Promise<Caller> {
    const startedAt = clock.now();
    const { generation } = cache;
    const verified = await resolve(bearerToken(header), dataKinds, startedAt, 'invalid_access_token');
    if (header !== undefined) cache.put(header, verified, startedAt, generation);
    return verified.caller;
  }

  return {
    authenticate(header) {
      const known = header === undefined ? undefined : cache.find(header, clock.now());
      return known ?? verify(header);
    },
    async authenticateCustomer(header) {
      const token = bearerToken(header);
      return (await resolve(token, customerKinds, clock.now(), 'invalid_customer_token')).caller;
    },
    close() {
      unsubscribe();
      cache.clear();
    },
  };
}

/** Asks each kind in turn; `otherwise` is the code of a token that is of none of them. */
async function resolve<C>(
  token: Jwt,
  kinds: readonly Resolver<C>[],
  now: number,
  otherwise: ErrorCode,
): Promise<Verified<C>> {
  for (const kind of kinds) {
    const verified = kind(token, now);
    if (verified !== null) return verified;
  }
  throw tokenFailure(otherwise, 'the token is not of a kind that opens this endpoint');
}
