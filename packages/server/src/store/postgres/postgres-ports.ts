/** The port of each resource on PostgreSQL, by its name in the Store. A resource is one line here. */
export { batchStore as batches } from './batch/postgres-batch.ts';
export { conversationFeedStore as conversationFeed } from './conversation/postgres-conversation-feed.ts';
export { messageStore as messages } from './conversation/postgres-messages.ts';
export { threadStore as threads } from './conversation/postgres-threads.ts';
export { changeStore as changes } from './postgres-changes.ts';
export { customerStore as customers, projectStore as projects } from './postgres-projects.ts';
export { sessionStore as sessions } from './postgres-sessions.ts';
export { durablePresenceStore as durablePresence } from './presence/postgres-durable-presence.ts';
export { eligibilityStore as eligibility } from './presence/postgres-eligibility.ts';
export { groupStore as groups } from './roster/postgres-groups.ts';
export { memberStore as members } from './roster/postgres-members.ts';
export { preferenceStore as preferences } from './roster/postgres-preferences.ts';
export { userStore as users } from './roster/postgres-users.ts';
export { webhookLeaseStore as webhookLeases } from './webhooks/postgres-webhook-leases.ts';
export { webhookStore as webhooks } from './webhooks/postgres-webhooks.ts';
