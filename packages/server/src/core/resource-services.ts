/** The services that need the same parts, by the names that handlers use. A resource is one line here. */

export { MessageService as messages } from './conversation/message-service.ts';
export { ThreadService as threads } from './conversation/thread-service.ts';
export { PresenceReading as presenceReading } from './presence/presence-reading.ts';
export { PresenceService as presence } from './presence/presence-service.ts';
export { ProjectService as projects } from './project-service.ts';
export { BatchService as batches } from './roster/batch-service.ts';
export { GroupService as groups } from './roster/group-service.ts';
export { MembershipService as memberships } from './roster/membership-service.ts';
export { PreferenceService as preferences } from './roster/preference-service.ts';
export { UserService as users } from './roster/user-service.ts';
export { WebhookService as webhooks } from './webhooks/webhook-service.ts';
