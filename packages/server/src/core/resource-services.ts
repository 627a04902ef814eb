/** The services that need the same parts, by the names that handlers use. A resource is one line here. */
export { BatchService as batches } from './batch-service.ts';
export { GroupService as groups } from './group-service.ts';
export { MembershipService as memberships } from './membership-service.ts';
export { MessageService as messages } from './message-service.ts';
export { PreferenceService as preferences } from './preference-service.ts';
export { PresenceReading as presenceReading } from './presence-reading.ts';
export { PresenceService as presence } from './presence-service.ts';
export { ProjectService as projects } from './project-service.ts';
export { ThreadService as threads } from './thread-service.ts';
export { UserService as users } from './user-service.ts';
export { WebhookService as webhooks } from './webhook-service.ts';
