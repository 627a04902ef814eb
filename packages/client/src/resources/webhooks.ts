import { path } from '../http/path.ts';
import type { CallOptions } from '../http/transport.ts';
import type {
  Done,
  Webhook,
  WebhookAttempt,
  WebhookCreated,
  WebhookDetails,
  WebhookReplay,
  WebhookSecret,
  WebhookWrite,
} from '../protocol.ts';
import { Resource } from './resource.ts';

/** The webhooks of a project: what changes is sent to their URLs. Every method rejects with a RollcallError. */
export class Webhooks extends Resource {
  async list(options?: CallOptions): Promise<Webhook[]> {
    const { webhooks } = await this.transport.json<{ webhooks: Webhook[] }>('GET', '/v1/webhooks', options);
    return webhooks;
  }

  async get(id: string, options?: CallOptions): Promise<WebhookDetails> {
    return this.transport.json('GET', path`/v1/webhooks/${id}`, options);
  }

  /**
   * Creates or updates. The response to a creation contains the secret, and no later one does; so it is never retried.
   */
  async put(id: string, body: WebhookWrite, options?: CallOptions): Promise<WebhookCreated | Done> {
    return this.transport.json('PUT', path`/v1/webhooks/${id}`, options, { body, repeatable: false });
  }

  async delete(id: string, options?: CallOptions): Promise<Done> {
    return this.transport.json('DELETE', path`/v1/webhooks/${id}`, options);
  }

  /** The response contains the new secret, and no later one does. Never retried. */
  async rotateSecret(id: string, options?: CallOptions): Promise<WebhookSecret> {
    return this.transport.json('POST', path`/v1/webhooks/${id}/rotate-secret`, options, { body: {} });
  }

  /** The last 100, the newest first. */
  async attempts(id: string, options?: CallOptions): Promise<WebhookAttempt[]> {
    const { attempts } = await this.transport.json<{ attempts: WebhookAttempt[] }>(
      'GET',
      path`/v1/webhooks/${id}/attempts`,
      options,
    );
    return attempts;
  }

  /** Moves to a position, backwards or forwards. */
  async replay(id: string, body: WebhookReplay, options?: CallOptions): Promise<Done> {
    return this.transport.json('POST', path`/v1/webhooks/${id}/replay`, options, { body });
  }

  /** Sends a test now, and resolves with its attempt. */
  async test(id: string, options?: CallOptions): Promise<WebhookAttempt> {
    return this.transport.json('POST', path`/v1/webhooks/${id}/test`, options, { body: {} });
  }
}
