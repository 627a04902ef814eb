/** The port of each resource on PostgreSQL, by its name in the Store. A resource is one line here. */
export { batchStore as batches } from './batch/postgres-batch.ts';
export { changeStore as changes } from './postgres-changes.ts';
export { conversationFeedStore as conversationFeed } from './postgres-conversation-feed.ts';
export { durablePresenceStore as durablePresence } from './postgres-durable-presence.ts';
export { eligibilityStore as eligibility } from './postgres-eligibility.ts';
export { groupStore as groups } from './postgres-groups.ts';
export { memberStore as members } from './postgres-members.ts';
export { messageStore as messages } from './postgres-messages.ts';
export { preferenceStore as preferences } from './postgres-preferences.ts';
export { customerStore as customers, projectStore as projects } from './postgres-projects.ts';
export { sessionStore as sessions } from './postgres-sessions.ts';
export { threadStore as threads } from './postgres-threads.ts';
export { userStore as users } from './postgres-users.ts';
export { webhookLeaseStore as webhookLeases } from './postgres-webhook-leases.ts';
export { webhookStore as webhooks } from './postgres-webhooks.ts';
