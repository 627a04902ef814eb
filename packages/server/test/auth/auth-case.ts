import assert from 'node:assert/strict';
import type { ErrorCode } from '@rollcall/protocol';
import { pino } from 'pino';
import { type Authenticator, createAuthenticator } from '../../src/auth/authenticator.ts';
import { createTokenIssuer } from '../../src/auth/token-issuer.ts';
import type { Broker } from '../../src/broker/broker.ts';
import { createMemoryBroker } from '../../src/broker/memory/memory-broker.ts';
import { StoreWrites } from '../../src/core/changes/store-writes.ts';
import { TokenService } from '../../src/core/clients/token-service.ts';
import { EligibilityCache } from '../../src/core/eligibility-cache.ts';
import { ProjectService } from '../../src/core/project-service.ts';
import { ServiceError } from '../../src/core/service-error.ts';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import type { ProjectRecord } from '../../src/store/ports/projects.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export const CUSTOMER = { id: 'acme', secret: 'the secret of acme', name: 'Acme', createdAt: 0 };
export const PROJECT = {
  id: 'wiki',
  customerId: 'acme',
  name: 'Wiki',
  secret: 'the secret of wiki',
  createdAt: 0,
};

/** The services of tokens, on the embedded engine. */
export interface AuthCase {
  readonly store: Store;
  readonly serviceKey: Uint8Array;
  readonly broker: Broker;
  readonly presence: PresenceStore;
  readonly clock: MovedClock;
  readonly authenticator: Authenticator;
  readonly tokens: TokenService;
  readonly projects: ProjectService;
  readonly writes: StoreWrites;
  readonly project: ProjectRecord;
  /** Now, in seconds, as tokens have it. */
  seconds(): number;
}

/** Runs `body` on a fresh store with one customer and one project, and checks that nothing is left behind. */
export async function withAuth(body: (auth: AuthCase) => Promise<void>): Promise<void> {
  await using directory = await temporaryDirectory('auth');
  const clock = new MovedClock();
  const store = await openSqliteStore({ dataDir: directory.path });
  const broker = createMemoryBroker();
  const presence = createMemoryPresence();
  const serviceKey = await store.sessions.serviceKey();
  const authenticator = createAuthenticator({ store, broker, clock, serviceKey });
  const log = pino({ level: 'silent' });
  const eligibility = new EligibilityCache({ store, broker, clock });
  const changeOrdering = { written: () => {} };
  const writes = new StoreWrites({ store, presence, broker, eligibility, clock, log, changeOrdering });
  const issuer = createTokenIssuer(store, serviceKey);
  const tokens = new TokenService({ store, broker, clock, writes, issuer });
  const projects = new ProjectService({ store, presence, broker, clock, log, writes });
  try {
    await store.customers.create(CUSTOMER);
    const made = await store.projects.create(PROJECT);
    assert.equal(made.kind, 'created');
    const { project } = made as { project: ProjectRecord };
    const seconds = () => Math.floor(clock.now() / 1_000);
    const parts = { store, serviceKey, broker, presence, clock, authenticator };
    await body({ ...parts, tokens, projects, writes, project, seconds });
  } finally {
    tokens.close();
    eligibility.close();
    authenticator.close();
    await Promise.all([broker.close(), presence.close(), store.close()]);
  }
  assert.equal(clock.timers, 0, 'a timer was left behind');
}

/** Asserts that `attempt` is rejected as a token failure: the code, 401, and the header that other 401s do not have. */
export async function assertTokenFailure(
  attempt: () => unknown,
  code: ErrorCode,
  what: string = code,
): Promise<ServiceError> {
  const error = await rejection(attempt, what);
  assert.equal(error.code, code, what);
  assert.equal(error.status, 401, what);
  assert.deepEqual(error.headers, { 'WWW-Authenticate': 'Bearer' }, what);
  return error;
}

/** The ServiceError that `attempt` throws or rejects with. */
export async function rejection(attempt: () => unknown, what = 'the attempt'): Promise<ServiceError> {
  try {
    await attempt();
  } catch (error) {
    assert.ok(error instanceof ServiceError, `${what} failed with ${String(error)}`);
    return error;
  }
  assert.fail(`${what} was not rejected`);
}
