import type { NotificationChannels } from '@rollcall/protocol';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { requireFound, userNotFound } from '../errors.ts';
import { ResourceService } from '../resource-service.ts';

/** How users want to be notified. A user of either status has preferences. */
export class PreferenceService extends ResourceService<'preferences'> {
  /** @throws ServiceError `user_not_found` */
  async find(project: ProjectKey, userId: string): Promise<Required<NotificationChannels>> {
    return requireFound(await this.store.preferences.find(project, userId), () => userNotFound(userId));
  }

  /** Merges: a channel that is not supplied does not change. @throws ServiceError `user_not_found` */
  async put(writer: Writer, userId: string, channels: NotificationChannels): Promise<void> {
    await this.writes.run(
      writer,
      (context) => this.store.preferences.put(writer.project, userId, channels, context),
      { absent: () => userNotFound(userId) },
    );
  }
}
