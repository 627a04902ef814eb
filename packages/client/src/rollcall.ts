import { type CallOptions, type ConnectionOptions, Transport } from './http/transport.ts';
import { Announcements } from './presence/announcements.ts';
import type { Batch, BatchDone } from './protocol.ts';
import { Groups } from './resources/groups.ts';
import { Health } from './resources/health.ts';
import { Preferences } from './resources/preferences.ts';
import { Presence } from './resources/presence.ts';
import { Projects } from './resources/projects.ts';
import { Tokens } from './resources/tokens.ts';
import { Users } from './resources/users.ts';

/** Options of a batch. */
export interface BatchOptions extends CallOptions {
  /** Validates and counts, and applies nothing. */
  readonly dryRun?: boolean | undefined;
}

/**
 * The client of a backend: with a project, app or access token ({@link projects} takes a customer token). Browsers use
 * {@link RollcallClient}.
 */
export class Rollcall {
  readonly groups: Groups;
  readonly users: Users;
  readonly preferences: Preferences;
  readonly presence: Presence;
  readonly projects: Projects;
  readonly tokens: Tokens;
  readonly health: Health;
  readonly #transport: Transport;
  readonly #announcements: Announcements;

  /** Sends no request. @throws TypeError when `url` is not a URL */
  constructor(options: ConnectionOptions) {
    this.#transport = new Transport(options);
    this.#announcements = new Announcements(this.#transport);
    this.groups = new Groups(this.#transport);
    this.users = new Users(this.#transport);
    this.preferences = new Preferences(this.#transport);
    this.presence = new Presence(this.#transport, this.#announcements);
    this.projects = new Projects(this.#transport);
    this.tokens = new Tokens(this.#transport);
    this.health = new Health(this.#transport);
  }

  /** Creates or updates up to 10,000 users and 1,000 groups, all or nothing; users first. @throws RollcallError */
  async batch(batch: Batch, { dryRun, ...options }: BatchOptions = {}): Promise<BatchDone> {
    const query = { dry_run: dryRun };
    const request = { method: 'POST', path: '/v1/batch', query, body: batch, repeatable: true } as const;
    return this.#transport.json(request, options);
  }

  /** Announcements leave, streams end, and pending calls reject with `aborted`. After it the process can end. */
  async close(): Promise<void> {
    await this.#announcements.leave();
    this.#transport.close();
  }
}
