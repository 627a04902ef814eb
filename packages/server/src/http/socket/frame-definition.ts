import {
  constant,
  exactly,
  meaning,
  number,
  type ObjectSchema,
  type Schema,
  type Static,
  type ValidationErrors,
  type Validator,
  validator,
} from '@rollcall/protocol';
import type { ClientWriter } from '../../core/caller.ts';
import type { PresenceChange } from '../../core/presence/presence-change.ts';
import type { Login, VerifiedLogin } from './socket-login.ts';
import type { SocketServices } from './socket-parts.ts';
import type { SocketWatches } from './socket-watches.ts';

/** A frame whose fields are not checked. */
export type RawFrame = Readonly<Record<string, unknown>>;

/** A frame whose fields are those of its definition. */
export type CheckedFrame = RawFrame & { readonly ref: number };

const ref = meaning(
  number({ description: 'a number' }),
  'A number of the client: the answer repeats it. That of a watch names the watch.',
);

type Fields = Parameters<typeof exactly>[0];
type FrameOf<F extends Fields> = Static<ObjectSchema<{ readonly ref: typeof ref } & F>>;

/** What follows an answer. */
export type Then = (() => void) | undefined;

export interface FrameSocket {
  readonly services: SocketServices;
  /** The ID of the request that opened it. */
  readonly requestId: string;
  /** Null until it has logged in. */
  readonly login: Login | null;
  /** The Authorization header that a request with its token has. */
  readonly credentials: string | undefined;
  readonly watches: SocketWatches;
  /** Logs in, or renews the token. @throws ServiceError (a rejection) see `logIn` in `socket-login.ts` */
  logIn(connectionID: string | undefined, verified: VerifiedLogin): Promise<Then>;
  /** Stores a durable update, or one that replaced it. @throws ServiceError (a rejection) like every update of a client */
  putDurable(writer: ClientWriter, change: PresenceChange): Promise<void>;
}

/** The caller of a frame: the socket's login, or for `auth` the one of its token. */
export interface Right {
  readonly writer: Login['writer'];
}

/** One frame of a client, apart from its `op` and `ref`. */
interface FrameDefinition<F extends Fields, R extends Right, Frame = FrameOf<F>> {
  readonly summary: string;
  /** A frame without its `op`. */
  readonly example: { readonly ref: number; readonly [field: string]: unknown };
  readonly fields: F;
  /** The `data` of what is sent after the answer until the watch ends, by the event's name. */
  readonly events?: Readonly<Record<string, Schema>>;
  /** The only frame that a socket takes before it has logged in. */
  readonly isLogin?: true;
  /** A check that the schema cannot express. `group` is the one that the socket's token names. */
  rule?(frame: RawFrame, errors: ValidationErrors, group: string | null): void;
  /** The next frames do not wait for its answer: they are handled once it is authorized. */
  isAnsweredLater?(frame: Frame): boolean;
  /** Verifies the token that the frame needs. Returns without a promise where nothing is awaited. @throws ServiceError */
  authorize(frame: Frame, socket: FrameSocket): R | Promise<R>;
  /** Applies a checked frame. It is answered when the promise resolves. @throws ServiceError */
  handle(frame: Frame, right: R, socket: FrameSocket): Promise<Then> | Promise<void>;
}

/** One frame of a client. Its dispatch, its validation and the description in `/asyncapi.json` come from it. */
export interface AnyFrame extends FrameDefinition<Fields, Right, CheckedFrame> {
  readonly op: string;
  readonly schema: ObjectSchema;
  readonly validate: Validator;
}

export function defineFrame<const F extends Fields, R extends Right>(
  op: string,
  definition: FrameDefinition<F, R>,
): AnyFrame {
  const schema = exactly({ op: constant(op, { description: `"${op}"` }), ref, ...definition.fields });
  return { ...definition, op, schema, validate: validator(schema) } as unknown as AnyFrame;
}
