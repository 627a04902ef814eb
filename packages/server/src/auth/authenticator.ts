import type { Broker } from '../broker/broker.ts';
import type { Caller, CustomerCaller } from '../core/caller.ts';
import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import { accessTokenResolver } from './access-token.ts';
import { bearerToken } from './bearer.ts';
import type { AuthenticatedClient } from './client-claims.ts';
import { clientTokenResolver, rejectClientToken } from './client-token.ts';
import { customerTokenResolver, rejectDataToken } from './customer-token.ts';
import type { Jwt } from './jwt.ts';
import { KnownProjects } from './known-projects.ts';
import { APP_TOKEN, PROJECT_TOKEN, projectTokenResolver } from './project-token.ts';
import { otherKind, type Resolver, type Verified, type VerifiedOfProject } from './resolver.ts';
import { VerifiedCache } from './verified-cache.ts';

export type Authenticator = ReturnType<typeof createAuthenticator>;

interface Parts {
  readonly store: Store;
  readonly broker: Broker;
  readonly clock: Clock;
  /** The key that signs access tokens. */
  readonly serviceKey: Uint8Array;
}

/** Reads the Authorization header of every request. Changes that the broker publishes take effect at once, others within a second. */
export function createAuthenticator({ store, broker, clock, serviceKey }: Parts) {
  const projects = new KnownProjects(store.projects, clock);
  const data = cached<Caller, Verified<Caller>>(clock, [
    rejectClientToken,
    projectTokenResolver(projects, PROJECT_TOKEN),
    projectTokenResolver(projects, APP_TOKEN),
    accessTokenResolver(store, serviceKey),
  ]);
  const client = cached<AuthenticatedClient, VerifiedOfProject<AuthenticatedClient>>(clock, [
    clientTokenResolver(projects),
  ]);
  const customerKinds = [rejectClientToken, customerTokenResolver(store), rejectDataToken];
  const unsubscribe = broker.subscribe(({ type }) => {
    if (type === 'project' || type === 'session') data.clear();
    if (type === 'project') client.clear();
  });

  return {
    /**
     * The caller of a data endpoint, which a project, app or access token opens. Answers at once, without a promise, for a
     * header that was verified before, with a project or a session that was read less than a second ago.
     * @throws ServiceError 401 with the code of what is wrong with the token (a rejection)
     */
    authenticate: data.authenticate,
    /**
     * The caller of `/v1/client`, which only a client token opens. Answers at once like {@link authenticate}.
     * @throws ServiceError 401; 400 when `user_details` of the token does not fit (a rejection)
     */
    authenticateClient: client.authenticate,
    /** The same as {@link authenticate}, with the times at which the token ends; never from the cache. */
    verify: data.resolve,
    /** The same as {@link authenticateClient}, with the times at which the token ends; never from the cache. */
    verifyClient: client.resolve,
    /** The caller of `/v1/projects`, which only a customer token opens. @throws ServiceError 401 (a rejection) */
    async authenticateCustomer(header: string | undefined): Promise<CustomerCaller> {
      const token = bearerToken(header);
      return resolve(token, customerKinds, clock.now());
    },
    /** Unsubscribes from the broker. Idempotent. */
    close: unsubscribe,
  };
}

/** Verifies tokens of these kinds, and caches their callers. */
function cached<C extends object, V extends Verified<C>>(clock: Clock, kinds: readonly Resolver<V>[]) {
  const cache = new VerifiedCache<C>();

  async function verified(header: string | undefined): Promise<V> {
    const startedAt = clock.now();
    const { generation } = cache;
    const found = await resolve(bearerToken(header), kinds, startedAt);
    if (header !== undefined) cache.put(header, found, startedAt, generation);
    return found;
  }

  const verify = async (header: string | undefined) => (await verified(header)).caller;

  const known = (header: string | undefined) =>
    header === undefined ? undefined : cache.find(header, clock.now());

  return {
    authenticate: (header: string | undefined): C | Promise<C> => known(header) ?? verify(header),
    resolve: verified,
    clear: () => cache.clear(),
  };
}

/** Tries one kind after the other. @throws ServiceError `invalid_access_token` for a token of another kind (a rejection) */
async function resolve<V>(token: Jwt, kinds: readonly Resolver<V>[], now: number): Promise<V> {
  for (const kind of kinds) {
    const verified = kind(token, now);
    if (verified !== null) return verified;
  }
  throw otherKind('invalid_access_token');
}
