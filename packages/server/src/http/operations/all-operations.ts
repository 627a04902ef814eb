import type { AnyOperation } from '../operation.ts';
import { batchOperations } from './batch.ts';
import { changeOperations } from './changes.ts';
import { clientOperations } from './client.ts';
import { clientConversationOperations } from './client-conversation.ts';
import { groupPresenceOperations } from './group-presence.ts';
import { groupOperations } from './groups.ts';
import { memberOperations } from './members.ts';
import { messageOperations } from './messages.ts';
import { operatorOperations } from './operator.ts';
import { preferenceOperations } from './preferences.ts';
import { presenceOperations } from './presence.ts';
import { projectOperations } from './projects.ts';
import { socketOperations } from './socket.ts';
import { threadOperations } from './threads.ts';
import { tokenOperations } from './tokens.ts';
import { userOperations } from './users.ts';
import { webhookOperations } from './webhooks.ts';

/** The API, in the order of its description. A resource is one line here. */
export const OPERATIONS: readonly AnyOperation[] = [
  ...groupOperations,
  ...memberOperations,
  ...userOperations,
  ...preferenceOperations,
  ...presenceOperations,
  ...groupPresenceOperations,
  ...threadOperations,
  ...messageOperations,
  ...clientOperations,
  ...clientConversationOperations,
  ...socketOperations,
  ...batchOperations,
  ...changeOperations,
  ...webhookOperations,
  ...tokenOperations,
  ...projectOperations,
  ...operatorOperations,
];
