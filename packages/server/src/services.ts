import type { Logger } from 'pino';
import { type Authenticator, createAuthenticator } from './auth/authenticator.ts';
import { createTokenIssuer } from './auth/token-issuer.ts';
import type { Settings } from './config/settings.ts';
import { BatchService } from './core/batch-service.ts';
import { ClientSessions } from './core/client-session.ts';
import type { Clock } from './core/clock.ts';
import { FailureLog } from './core/failure-log.ts';
import { GroupService } from './core/group-service.ts';
import { MembershipService } from './core/membership-service.ts';
import { PageTokens } from './core/page-token.ts';
import { PreferenceService } from './core/preference-service.ts';
import { PresenceReading } from './core/presence-reading.ts';
import { PresenceService } from './core/presence-service.ts';
import { PresenceSweeps } from './core/presence-sweeps.ts';
import { createProjectService, type ProjectService } from './core/project-service.ts';
import { Readiness } from './core/readiness.ts';
import { RecentStandings } from './core/recent-standings.ts';
import { createTokenService, type TokenService } from './core/token-service.ts';
import { UserService } from './core/user-service.ts';
import { PresenceHub } from './realtime/hub.ts';
import type { Engine } from './wiring.ts';

/** All that the HTTP application stands on. */
export interface Services {
  readonly authenticator: Authenticator;
  readonly tokens: TokenService;
  readonly projects: ProjectService;
  readonly groups: GroupService;
  readonly memberships: MembershipService;
  readonly users: UserService;
  readonly preferences: PreferenceService;
  readonly presence: PresenceService;
  readonly presenceReading: PresenceReading;
  readonly streams: PresenceHub;
  readonly clients: ClientSessions;
  readonly batches: BatchService;
  readonly readiness: Readiness;
  readonly pageTokens: PageTokens;
  readonly settings: Pick<
    Settings,
    'bodyLimitBytes' | 'bodiesMemoryBytes' | 'rateLimitPerSecond' | 'corsOrigins'
  >;
  /** Failures that repeat are limited in it. */
  readonly log: Logger;
  /** Ends what runs on its own: sweeps and subscriptions. The engine stays open. */
  close(): void;
}

/** Builds the core on an engine. */
export async function createServices(
  engine: Engine,
  clock: Clock,
  settings: Settings,
  processLog: Logger,
): Promise<Services> {
  const { store, presence, broker } = engine;
  const { presenceTtlSeconds, presenceMergeMs } = settings;
  const pageTokens = new PageTokens(await store.serviceKey());
  const failures = new FailureLog(processLog, clock);
  const { log } = failures;
  const standings = new RecentStandings({ store, broker, clock });
  const dependencies = { store, presence, standings, clock, log };
  const authenticator = createAuthenticator({ store, broker, clock });
  const tokens = createTokenService({ store, broker, clock, issuer: createTokenIssuer(store) });
  const presenceService = new PresenceService({ ...dependencies, presenceTtlSeconds });
  const sweeps = new PresenceSweeps(dependencies);
  const users = new UserService(dependencies);
  const streams = new PresenceHub({ ...dependencies, broker, mergeMs: presenceMergeMs });
  return {
    authenticator,
    tokens,
    projects: createProjectService({ ...dependencies, broker }),
    groups: new GroupService(dependencies),
    memberships: new MembershipService(dependencies),
    users,
    preferences: new PreferenceService(store),
    presence: presenceService,
    presenceReading: new PresenceReading(dependencies),
    streams,
    clients: new ClientSessions({ store, users, presence: presenceService }),
    batches: new BatchService(dependencies),
    readiness: new Readiness(engine),
    pageTokens,
    settings,
    log,
    close() {
      streams.close();
      sweeps.close();
      standings.close();
      tokens.close();
      authenticator.close();
      failures.close();
    },
  };
}
