import type { NotificationChannels } from '@rollcall/protocol';
import type { Store } from '../store/store.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { Writer } from './caller.ts';
import { userNotFound } from './errors.ts';
import type { StoreWrites } from './store-writes.ts';

interface Parts {
  readonly store: Pick<Store, 'preferences'>;
  readonly writes: StoreWrites;
}

/** How users want to be notified. A user of either status has preferences. */
export class PreferenceService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws ServiceError `user_not_found` */
  async find(project: ProjectKey, userId: string): Promise<Required<NotificationChannels>> {
    const channels = await this.#parts.store.preferences.find(project, userId);
    if (channels === null) throw userNotFound(userId);
    return channels;
  }

  /** Merges: a channel that is not supplied does not change. @throws ServiceError `user_not_found` */
  async put(writer: Writer, userId: string, channels: NotificationChannels): Promise<void> {
    await this.#parts.writes.run(
      writer,
      {},
      (context) => this.#parts.store.preferences.put(writer.project, userId, channels, context),
      { absent: () => userNotFound(userId) },
    );
  }
}
