import type { ErrorCode } from '@rollcall/protocol';
import type { Broker } from '../broker/broker.ts';
import type { Caller, ClientCaller, CustomerCaller } from '../core/caller.ts';
import type { Clock } from '../core/clock.ts';
import { tokenFailure } from '../core/token-failure.ts';
import type { Store } from '../store/store.ts';
import { accessTokenResolver } from './access-token.ts';
import { bearerToken } from './bearer.ts';
import { clientTokenResolver, refuseClientToken } from './client-token.ts';
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
  /** Who calls a data endpoint, where {@link authenticate} answers at once. */
  known(header: string | undefined): Caller | undefined;
  /** Who calls `/v1/projects`: only a customer token opens it. @throws ServiceError 401 (a rejection) */
  authenticateCustomer(header: string | undefined): CustomerCaller | Promise<CustomerCaller>;
  /**
   * Who calls `/v1/client`: only a client token opens it. Answers at once like {@link authenticate}.
   * @throws ServiceError 401; 400 when `user_details` of the token does not fit (a rejection)
   */
  authenticateClient(header: string | undefined): ClientCaller | Promise<ClientCaller>;
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
  const data = remembering<Caller>(clock, [
    refuseClientToken,
    projectTokenResolver(store, PROJECT_TOKEN),
    projectTokenResolver(store, APP_TOKEN),
    accessTokenResolver(store),
  ]);
  const client = remembering<ClientCaller>(clock, [clientTokenResolver(store)]);
  const customerKinds = [refuseClientToken, customerTokenResolver(store)];
  const forget = () => {
    data.forget();
    client.forget();
  };
  const unsubscribe = broker.subscribe(({ type }) => {
    if (type !== 'standing') forget();
  });

  return {
    authenticate: data.authenticate,
    known: data.known,
    authenticateClient: client.authenticate,
    async authenticateCustomer(header) {
      const token = bearerToken(header);
      return (await resolve(token, customerKinds, clock.now(), 'invalid_customer_token')).caller;
    },
    close() {
      unsubscribe();
      forget();
    },
  };
}

/** Verifies tokens of these kinds, and remembers whose they are for a second. */
function remembering<C extends object>(clock: Clock, kinds: readonly Resolver<C>[]) {
  const cache = new VerifiedCache<C>();

  async function verify(header: string | undefined): Promise<C> {
    const startedAt = clock.now();
    const { generation } = cache;
    const verified = await resolve(bearerToken(header), kinds, startedAt, 'invalid_access_token');
    if (header !== undefined) cache.put(header, verified, startedAt, generation);
    return verified.caller;
  }

  const known = (header: string | undefined) =>
    header === undefined ? undefined : cache.find(header, clock.now());

  return {
    known,
    authenticate: (header: string | undefined): C | Promise<C> => known(header) ?? verify(header),
    forget: () => cache.clear(),
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
