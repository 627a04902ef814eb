import { Connection } from './connection.ts';
import type { CallOptions, ConnectionOptions } from './http/transport.ts';
import type { Batch, BatchDone } from './protocol.ts';
import { Groups } from './resources/groups.ts';
import { Health } from './resources/health.ts';
import { Preferences } from './resources/preferences.ts';
import { Presence } from './resources/presence.ts';
import { Projects } from './resources/projects.ts';
import { Threads } from './resources/threads.ts';
import { Tokens } from './resources/tokens.ts';
import { Users } from './resources/users.ts';
import { Webhooks } from './resources/webhooks.ts';
import { openOwnStream } from './streams/http-stream.ts';

/** Options of a batch. */
export interface BatchOptions extends CallOptions {
  /** Validates and counts, and applies nothing. */
  readonly dryRun?: boolean | undefined;
}

/**
 * The client of a backend: with a project, app or access token ({@link projects} takes a customer token). Browsers use
 * {@link RollcallClient}.
 */
export class Rollcall extends Connection {
  readonly groups: Groups = new Groups(this.transport, () => '/v1/groups');
  readonly users: Users = new Users(this.transport, () => '/v1/users');
  readonly threads: Threads = new Threads(this.transport, () => '/v1/threads');
  readonly preferences: Preferences = new Preferences(this.transport);
  readonly presence: Presence = new Presence(this.transport, this.announcements);
  readonly webhooks: Webhooks = new Webhooks(this.transport);
  readonly projects: Projects = new Projects(this.transport);
  readonly tokens: Tokens = new Tokens(this.transport);
  readonly health: Health = new Health(this.transport);

  /** Sends no request. @throws TypeError when `url` is not a URL */
  constructor(options: ConnectionOptions) {
    super(options, async () => openOwnStream);
  }

  /** Creates or updates up to 10,000 users and 1,000 groups, all or nothing; users first. @throws RollcallError */
  async batch(batch: Batch, { dryRun, ...options }: BatchOptions = {}): Promise<BatchDone> {
    const query = { dry_run: dryRun };
    return this.transport.json('POST', '/v1/batch', options, { query, body: batch, repeatable: true });
  }
}
