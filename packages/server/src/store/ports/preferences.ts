import type { NotificationChannels } from '@rollcall/protocol';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Absent, Updated } from '../outcomes.ts';
import type { WriteContext } from '../write-context.ts';

/** How users want to be notified. A user of either status has preferences; all channels are on by default. */
export interface PreferenceStore {
  /** Null when there is no such user. */
  find(project: ProjectKey, userId: string): Promise<Required<NotificationChannels> | null>;
  /** Merges: a channel that is not supplied stays as it is. */
  put(
    project: ProjectKey,
    userId: string,
    channels: NotificationChannels,
    context: WriteContext,
  ): Promise<Updated | Absent>;
}
