/** What our plugins add to Fastify's own types. */
import type { Findings } from '@rollcall/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, ClientCaller, CustomerCaller } from '../core/caller.ts';
import type { Misfit } from '../core/findings-error.ts';
import type { PageRequest } from '../store/store.ts';
import type { LargeBodyName } from './bodies/large-bodies.ts';
import type { ReceivedBody } from './bodies/received-body.ts';
import type { TokenKind } from './plugins/authenticate.ts';

/** A rule that a schema cannot state. `findings` names query parameters and body fields as messages show them. */
export type RequestRule = (request: FastifyRequest, findings: Findings) => void;

declare module 'fastify' {
  interface FastifyInstance {
    /** Whose token opens the routes of this scope; for the API description. */
    readonly tokenKind: TokenKind;
  }

  interface FastifyRequest {
    /** Who calls; set on every route that a project or a client opens. */
    caller: Caller;
    /** Who calls; set on every route that a customer opens. */
    customer: CustomerCaller;
    /** Who calls; set on every route that a client opens. */
    client: ClientCaller;
    /** `performance.now()` when the request arrived. */
    startedAt: number;
    /** What does not fit, on routes that take it upon themselves to refuse it; else null. */
    misfit: Misfit | null;
    /** The body as it arrived; null when there is none. Its memory is given back when the request is answered. */
    received: ReceivedBody | null;
    /** Which page is asked for; set on every route with the page rule. */
    page: PageRequest;
  }

  interface FastifyContextConfig {
    /** Checked after the schemas, before the handler. */
    readonly rule?: RequestRule;
    /** The handler refuses what does not fit: the order of checks depends on what it finds. */
    readonly refusesMisfit?: boolean;
    /**
     * The rules of a body that may be larger than 256 KiB. In a large body the lists of IDs are packed; of an invalid
     * large body the handler gets the names of its fields alone.
     */
    readonly largeBody?: LargeBodyName;
    /** The body goes to the handler as bytes, which checks them. */
    readonly rawBody?: boolean;
    /** Observes an answer that does not leave through Fastify; every route has it. */
    readonly observe?: (request: FastifyRequest, reply: FastifyReply) => void;
    /** No body is as good as `{}`. */
    readonly bodyOptional?: boolean;
  }

  interface FastifySchema {
    readonly operationId?: string;
    readonly summary?: string;
    readonly description?: string;
    readonly tags?: readonly string[];
    /** Left out of the API description. */
    readonly hide?: boolean;
  }
}
