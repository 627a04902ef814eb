import type { Duplex } from 'node:stream';
import {
  type ErrorCode,
  limits,
  type ObjectSchema,
  type Schema,
  type Static,
  type ValidationErrors,
} from '@rollcall/protocol';
import type { AuthenticatedClient } from '../auth/client-claims.ts';
import type { Caller, CustomerCaller } from '../core/caller.ts';
import type { ListName } from '../core/page-token.ts';
import type { ErrorsByStep, RequiredFields } from '../core/validation-error.ts';
import type { LargeBodyName } from './bodies/large-bodies.ts';
import type { Exchange } from './exchange.ts';
import type { HttpServices } from './http-services.ts';
import { pathErrors } from './parameters/path-errors.ts';
import type { Reply } from './reply.ts';
import type { NOTHING } from './schemas.ts';

/** The caller of an operation, by the kind of token that opens it. */
export interface Callers {
  readonly project: Caller;
  readonly client: AuthenticatedClient;
  readonly customer: CustomerCaller;
  readonly none: null;
}

export type TokenKind = keyof Callers;

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

/** A chapter of the API description. */
export interface Tag {
  readonly name: string;
  readonly description: string;
}

/** An example of the API description, with what it shows. */
export interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

/** The request body of an operation: a JSON object. */
interface BodyDefinition<B extends ObjectSchema> {
  readonly schema: B;
  /** Bodies that the operation takes, by name; the first one is answered by the example of the answer. */
  readonly examples: Readonly<Record<string, Example>>;
  /** Default: 256 KiB. `ROLLCALL_BODY_LIMIT_BYTES` bounds every body. */
  readonly maxBytes?: number;
  /** An absent body means `{}`. */
  readonly isOptional?: boolean;
  /**
   * The rules by which a thread reads bodies above 256 KiB. In such a body the lists of IDs are packed; where it is invalid,
   * the handler gets the names of its fields alone.
   */
  readonly large?: LargeBodyName;
  /** The handler gets the bytes, which it checks itself. */
  readonly isRaw?: true;
}

/** A stream of server-sent events, for the API description. */
export interface StreamDefinition {
  /** The name of the schema of its events. */
  readonly name: string;
  /** The `data` of each event, by the event's name. */
  readonly events: Readonly<Record<string, Schema>>;
  /** Events as they may come; `data` is shown as JSON. */
  readonly example: readonly { readonly name: string; readonly id: string; readonly data: object }[];
}

/** A success: its body, and its prose in the API description. */
export interface AnswerDefinition {
  /** Default: 200. With 101 the connection is a WebSocket from then on. */
  readonly status?: 200 | 201 | 101;
  readonly schema: Schema;
  readonly description: string;
  readonly example: unknown;
  /** Default: `application/json`. */
  readonly type?: string;
  /** The answer as `text/event-stream`, for operations that have one. */
  readonly stream?: StreamDefinition;
  /** The `Link` header names the next page. */
  readonly hasLink?: true;
  /** The `ETag` header names the state after the write. */
  readonly hasETag?: true;
  /** What is answered with 201 where the handler sets `isCreated`. */
  readonly created?: Pick<AnswerDefinition, 'schema' | 'description' | 'example'>;
}

/** How a checked request becomes a WebSocket. */
interface Upgrade {
  /** @throws ServiceError where the request cannot be answered with a WebSocket */
  require(exchange: Exchange, services: HttpServices): void;
  /** Takes over the connection. `head` is what has arrived on it after the request. */
  open(exchange: Exchange, socket: Duplex, head: Buffer, services: HttpServices): void;
}

/** What a PUT needs where it creates. Which fields are missing depends on the resource being there. */
interface Creation<E> {
  readonly required: RequiredFields;
  exists(exchange: E, services: HttpServices): Promise<boolean>;
}

export interface PagedList<E> {
  /** The name of the list within its project, to which its page tokens are bound; null when the request is too invalid to name one. */
  name(exchange: E): ListName | null;
  /** Default: 1,000. */
  readonly defaultLimit?: number;
}

/** One operation of the API, apart from its path and what it shares with others of its resource. */
interface OperationDefinition<
  K extends TokenKind,
  Q extends ObjectSchema,
  B extends ObjectSchema,
  E = Exchange<Callers[K], Static<Q>, Static<B>>,
> {
  readonly id: string;
  readonly summary: string;
  /** CommonMark: what the summary leaves open. */
  readonly description: string;
  readonly query?: Q;
  readonly body?: BodyDefinition<B>;
  readonly answer: AnswerDefinition;
  /**
   * `read`: the answer has an `ETag`, and If-None-Match answers 304. `tagged`: the answer has an `ETag` for writes, and is never
   * 304. `write`: If-Match. `put`: both, where `If-None-Match: *` only creates.
   */
  readonly conditions?: 'read' | 'tagged' | 'write' | 'put';
  readonly creation?: Creation<E>;
  /** When codes are answered that do not follow from token, path, query and body, or follow for a reason of their own. */
  readonly errors?: Readonly<Partial<Record<ErrorCode, string>>>;
  /** When `invalid_request` is answered with another status than its own, by that status. */
  readonly statuses?: Readonly<Partial<Record<403 | 410 | 412 | 426, string>>>;
  /** When 503 is answered, where the reason is not simply that the store cannot be reached. */
  readonly unavailable?: string;
  /** Sets `page` from the query's `limit` and `token`. */
  readonly list?: PagedList<E>;
  /** A check that the schemas cannot express. `errors` names query parameters and fields as messages show them. */
  rule?(exchange: E, errors: ValidationErrors, services: HttpServices): void;
  /** Rejects an invalid request, where the order of checks depends on what the store has. */
  rejectInvalid?(exchange: E, errors: ErrorsByStep, services: HttpServices): Promise<never>;
  /** How a request becomes a WebSocket; `handle` answers those that do not. */
  readonly upgrade?: Upgrade;
  /** Answers a checked request. May return without a promise where nothing is awaited. */
  handle(exchange: E, services: HttpServices): Reply | Promise<Reply>;
}

/**
 * One operation of the API. Routing, validation, the API description, 404 and 405, CORS, the rate limit and the metrics'
 * route names come from it.
 */
export interface AnyOperation extends OperationDefinition<TokenKind, ObjectSchema, ObjectSchema, Exchange> {
  readonly method: Method;
  /** With its parameters as the router takes them: `/v1/groups/:id`. Every parameter is an ID. */
  readonly path: string;
  readonly token: TokenKind;
  readonly tag: Tag;
}

/** Most bytes that a body of the operation may have; the operator may allow fewer. */
export const maxBytesOf = ({ maxBytes = limits.SMALL_BODY_LIMIT_BYTES }: NonNullable<AnyOperation['body']>) =>
  maxBytes;

/** Whether the requests count towards the limit of their project. */
export const isLimited = ({ token }: AnyOperation): boolean => token === 'project' || token === 'client';

/** Defines operations of one tag, which one kind of token opens: `operation('GET /v1/groups/:id', { … })`. */
export const operationsOf =
  <K extends TokenKind>(token: K, tag: Tag) =>
  <Q extends ObjectSchema = typeof NOTHING, B extends ObjectSchema = typeof NOTHING>(
    route: `${Method} /${string}`,
    definition: OperationDefinition<K, Q, B>,
  ): AnyOperation => {
    const [method, path = ''] = route.split(' ');
    const errors = { ...pathErrors(path, definition), ...definition.errors };
    return { ...definition, errors, method, path, token, tag } as unknown as AnyOperation;
  };
