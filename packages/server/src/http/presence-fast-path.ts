import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import {
  Findings,
  inspector,
  type JsonObject,
  limits,
  PresenceWrite,
  parseJsonObject,
} from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import type { Caller } from '../core/caller.ts';
import { inspectPresence } from '../core/presence-service.ts';
import type { ServiceError } from '../core/service-error.ts';
import type { Services } from '../services.ts';
import { answerRaw, errorBody, JSON_TYPE } from './answer.ts';
import type { BodyMemory } from './bodies/body-memory.ts';
import { ReceivedBody } from './bodies/received-body.ts';
import { handBody } from './plugins/bodies.ts';
import { refusalFor } from './plugins/errors.ts';
import { requestId } from './plugins/request-context.ts';
import type { RequestHistogram } from './request-histogram.ts';
import { USER_PRESENCE, updated } from './routes/user-presence.ts';

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

const BEFORE_ID = '/v1/users/';
const AFTER_ID = '/presence';
/** IDs of characters that stand for themselves in a path; others are decoded and checked the ordinary way. */
const PLAIN_ID = new RegExp(`^[\\w.~@:-]{1,${limits.ID_MAX_LENGTH}}$`);
/** An update is some hundred bytes. */
const BODY_MAX_BYTES = 16_384;

/** A request that can go this way, as far as its head tells. */
interface Plain {
  readonly caller: Caller;
  readonly userId: string;
  readonly startedAt: number;
}

/**
 * Carries out `PUT /v1/users/<USER_ID>/presence` without the framework where nothing about the request is out of the
 * ordinary. No endpoint is called more often, and few do less. Whatever is not recognised here, and whatever would be
 * refused before it is carried out, goes the ordinary way with its body: so every rule and its message stand in one place.
 *
 * Call it when the application has all its routes.
 */
export function addPresenceFastPath(
  app: FastifyInstance,
  services: Services,
  histogram: RequestHistogram,
  memory: BodyMemory,
): void {
  const { authenticator, presence, settings, log } = services;
  // These want to see every request.
  if (settings.rateLimitPerSecond !== null || log.isLevelEnabled('debug')) return;
  const bodyMaxBytes = Math.min(BODY_MAX_BYTES, settings.bodyLimitBytes);
  const series = histogram.route('PUT', USER_PRESENCE);
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });

  const plain = ({ method, url, headers }: IncomingMessage): Plain | null => {
    if (method !== 'PUT' || !url?.startsWith(BEFORE_ID) || !url.endsWith(AFTER_ID)) return null;
    const userId = url.slice(BEFORE_ID.length, -AFTER_ID.length);
    // A length that is not given is no number, and so not less than any.
    const isShort = Number(headers['content-length']) <= bodyMaxBytes;
    if (!isShort || !isJson(headers) || !PLAIN_ID.test(userId) || isClosing) return null;
    const caller = authenticator.known(headers.authorization);
    return caller === undefined ? null : { caller, userId, startedAt: performance.now() };
  };

  const carryOut = async (
    response: ServerResponse,
    id: string,
    found: Plain,
    write: PresenceWrite,
    body: ReceivedBody,
  ) => {
    const { caller, userId, startedAt } = found;
    let refusal: ServiceError | null = null;
    try {
      await presence.put(caller.project, userId, write);
    } catch (error) {
      refusal = refusalFor(error, { method: 'PUT', route: USER_PRESENCE, reqId: id }, log);
    }
    body.release();
    const status = refusal?.status ?? 200;
    const answer = refusal === null ? updated(userId) : errorBody(refusal.code, refusal.message);
    series.observe(status, performance.now() - startedAt);
    answerRaw(response, status, id, answer, refusal?.headers);
  };

  takeFirst(app.server, (request, response, ordinary) => {
    const found = plain(request);
    if (found === null) return ordinary(request, response);
    const whole = (body: ReceivedBody) => {
      const write = body.isRejected ? null : checkedWrite(body.bytes());
      if (write === null) {
        handBody(request, body);
        ordinary(request, response);
        return;
      }
      carryOut(response, requestId(request), found, write, body).catch((err) => {
        log.error({ err }, 'a request could not be answered');
        response.destroy();
      });
    };
    // A caller who hangs up before that cannot be answered, and is counted as on the ordinary way.
    const cutShort = () => series.observe(400, performance.now() - found.startedAt);
    collect(request, new ReceivedBody(memory), whole, cutShort);
  });
}

/** As most clients write it. */
const isJson = ({ 'content-type': type, 'content-encoding': encoding }: IncomingHttpHeaders) =>
  (type === 'application/json' || type === JSON_TYPE) && encoding === undefined;

/** Puts a listener before the one that the server has. */
function takeFirst(
  server: Server,
  listener: (request: IncomingMessage, response: ServerResponse, ordinary: RequestListener) => void,
): void {
  const [ordinary, ...others] = server.listeners('request') as [RequestListener, ...unknown[]];
  if (others.length > 0) throw new Error('somebody else listens for requests');
  server.off('request', ordinary);
  server.on('request', (request, response) => listener(request, response, ordinary));
}

/** Calls one of the two: after its end a request has no errors. */
function collect(
  request: IncomingMessage,
  body: ReceivedBody,
  whole: (body: ReceivedBody) => void,
  cutShort: () => void,
): void {
  request.on('data', (chunk: Uint8Array) => body.add(chunk));
  request.on('end', () => whole(body));
  request.on('error', () => {
    body.release();
    cutShort();
  });
}

const inspect = inspector(PresenceWrite);
/** Reused as long as nothing is found. */
let findings = new Findings();

/** The update in a body, when nothing is wrong with it. */
function checkedWrite(bytes: Uint8Array): PresenceWrite | null {
  let write: JsonObject;
  try {
    write = parseJsonObject(bytes);
  } catch {
    return null;
  }
  inspect(write, findings);
  inspectPresence(write, findings);
  if (findings.clean) return write as PresenceWrite;
  findings = new Findings();
  return null;
}
