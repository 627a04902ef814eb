import type { NotificationChannels } from '@rollcall/protocol';
import type { ProjectKey, Store } from '../store/store.ts';
import { userNotFound } from './refusals.ts';

/** How users want to be reached. A user of either status has preferences. */
export class PreferenceService {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws ServiceError `user_not_found` */
  async find(project: ProjectKey, userId: string): Promise<Required<NotificationChannels>> {
    const channels = await this.#store.findPreferences(project, userId);
    if (channels === null) throw userNotFound(userId);
    return channels;
  }

  /** Merges: a channel that is not supplied keeps its value. @throws ServiceError `user_not_found` */
  async put(project: ProjectKey, userId: string, channels: NotificationChannels): Promise<void> {
    if (!(await this.#store.putPreferences(project, userId, channels))) throw userNotFound(userId);
  }
}
