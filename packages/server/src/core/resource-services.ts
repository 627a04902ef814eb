import { BatchService } from './batch-service.ts';
import { GroupService } from './group-service.ts';
import { MembershipService } from './membership-service.ts';
import { MessageService } from './message-service.ts';
import { PreferenceService } from './preference-service.ts';
import { PresenceReading } from './presence-reading.ts';
import { PresenceService } from './presence-service.ts';
import { ProjectService } from './project-service.ts';
import { ThreadService } from './thread-service.ts';
import { UserService } from './user-service.ts';
import { WebhookService } from './webhook-service.ts';

/** The services that need the same parts, by the names that handlers use. */
export const RESOURCE_SERVICES = {
  batches: BatchService,
  groups: GroupService,
  memberships: MembershipService,
  messages: MessageService,
  preferences: PreferenceService,
  presenceReading: PresenceReading,
  presence: PresenceService,
  projects: ProjectService,
  threads: ThreadService,
  users: UserService,
  webhooks: WebhookService,
};

export type ResourceServices = {
  readonly [Name in keyof typeof RESOURCE_SERVICES]: InstanceType<(typeof RESOURCE_SERVICES)[Name]>;
};
