import type { Logger } from 'pino';
import { createAuthenticator } from './auth/authenticator.ts';
import { createTokenIssuer } from './auth/token-issuer.ts';
import type { Settings } from './config/settings.ts';
import { ChangeFeed } from './core/changes/change-feed.ts';
import { ChangeOrdering } from './core/changes/change-ordering.ts';
import { startChangeRetention } from './core/changes/change-retention.ts';
import { RecordFollower } from './core/changes/record-follower.ts';
import { StoreWrites } from './core/changes/store-writes.ts';
import { ClientSessions } from './core/clients/client-session.ts';
import { TokenService } from './core/clients/token-service.ts';
import type { Clock } from './core/clock.ts';
import { ClientConversation } from './core/conversation/client-conversation.ts';
import { EligibilityCache } from './core/eligibility-cache.ts';
import { FailureLog } from './core/failure-log.ts';
import { HeldPresence } from './core/holds/held-presence.ts';
import { PageTokens } from './core/page-token.ts';
import { PresenceSweeps } from './core/presence/presence-sweeps.ts';
import { Readiness } from './core/readiness.ts';
import * as resourceServices from './core/resource-services.ts';
import type { ResourceServices } from './http/http-services.ts';
import { ChangeHub } from './realtime/changes/change-hub.ts';
import { ConversationHub } from './realtime/conversation/conversation-hub.ts';
import { PresenceHub } from './realtime/feed/presence-hub.ts';
import { Beginnings } from './realtime/sessions/beginnings.ts';
import { serviceMetrics } from './service-metrics.ts';
import type { Tracing } from './tracing/tracing.ts';
import { AddressRules } from './webhooks/address-rules.ts';
import { AttemptSender } from './webhooks/attempt-sender.ts';
import { HostLookup } from './webhooks/host-lookup.ts';
import { WebhookDeliveries } from './webhooks/webhook-deliveries.ts';
import { WebhookTests } from './webhooks/webhook-tests.ts';
import type { Engine } from './wiring.ts';

/** The services of a process. `http/http-services.ts` names those that the HTTP application needs. */
export type Services = Awaited<ReturnType<typeof createServices>>;

/** Builds the core on an engine. */
export async function createServices(
  engine: Engine,
  clock: Clock,
  settings: Settings,
  processLog: Logger,
  tracing: Tracing | null = null,
) {
  const { store, presence, broker } = engine;
  const { presenceTtlSeconds, presenceMergeMs, changesSeconds } = settings;
  const serviceKey = await store.sessions.serviceKey();
  const pageTokens = new PageTokens(serviceKey);
  const failures = new FailureLog(processLog, clock);
  const { log } = failures;
  const eligibility = new EligibilityCache({ store, broker, clock });
  const changeOrdering: ChangeOrdering = new ChangeOrdering({
    ...{ store, broker, clock, log },
    ordered: (projects) => webhookDeliveries.ordered(projects),
  });
  const writes = new StoreWrites({ store, presence, broker, eligibility, clock, log, changeOrdering });
  const record = new RecordFollower({ store, clock, log });
  const changes = new ChangeFeed(store);
  const dependencies = {
    changes,
    changeOrdering,
    record,
    store,
    presence,
    broker,
    eligibility,
    clock,
    log,
    writes,
    presenceTtlSeconds,
    beginnings: new Beginnings(),
  };
  const addressRules = new AddressRules(settings.webhooksAllow);
  const sender = new AttemptSender(clock, new HostLookup(addressRules), tracing);
  const webhookDeliveries = new WebhookDeliveries({ ...dependencies, sender });
  const webhookTests = new WebhookTests({ ...dependencies, sender });
  const authenticator = createAuthenticator({ store, broker, clock, serviceKey });
  const tokens = new TokenService({ ...dependencies, issuer: createTokenIssuer(store, serviceKey) });
  const sweeps = new PresenceSweeps(dependencies);
  const endRetention = startChangeRetention({ store, clock, log, changesSeconds });
  const streams = new PresenceHub({ ...dependencies, mergeMs: presenceMergeMs });
  const services = Object.fromEntries(
    Object.entries(resourceServices).map(([name, Service]) => [name, new Service(dependencies)]),
  ) as ResourceServices;
  const clients = new ClientSessions({ store, ...services });
  const heldPresence = new HeldPresence({ ...dependencies, clients });
  const conversationStreams = new ConversationHub({ ...dependencies, pageTokens });
  const changeStreams = new ChangeHub(dependencies);
  const metrics = serviceMetrics({
    engine,
    clock,
    webhookDeliveries,
    streams,
    conversationStreams,
    changeStreams,
  });
  return {
    metrics,
    tracing,
    authenticator,
    tokens,
    ...services,
    streams,
    conversationStreams,
    changes,
    changeStreams,
    webhookDeliveries,
    webhookTests,
    isWebhookTarget: (url: string) => addressRules.acceptsUrl(url),
    clients,
    heldPresence,
    store,
    broker,
    record,
    conversation: new ClientConversation({ ...services, clients }),
    readiness: new Readiness(engine),
    pageTokens,
    clock,
    settings,
    log,
    /** Ends sweeps and subscriptions. The engine stays open. */
    async close() {
      webhookTests.close();
      await webhookDeliveries.stop();
      heldPresence.close();
      streams.close();
      conversationStreams.close();
      changeStreams.close();
      record.close();
      changeOrdering.close();
      sweeps.close();
      endRetention();
      eligibility.close();
      tokens.close();
      authenticator.close();
      failures.close();
    },
  };
}
