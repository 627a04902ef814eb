import type { ObjectSchema } from '@rollcall/protocol';
import type { FastifySchema } from 'fastify';
import type { TokenKind } from '../plugins/authenticate.ts';

/** What the API description takes from a route: nothing in it is written a second time for the description. */
export interface DescribedRoute {
  readonly method: string;
  /** With its parameters as the router has them: `/v1/groups/:id`. */
  readonly url: string;
  readonly schema: RouteSchema;
  readonly tokenKind: TokenKind;
  readonly bodyOptional: boolean;
}

/** The schema that every route of ours has. */
export interface RouteSchema extends Omit<FastifySchema, 'body'> {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly params?: ObjectSchema;
  readonly querystring?: ObjectSchema;
  readonly body?: ObjectSchema;
  readonly response: Readonly<Record<string, object>>;
}
