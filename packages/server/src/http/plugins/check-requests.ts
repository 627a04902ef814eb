import { Findings, inspector, JsonObjectError, type ObjectSchema, parseJsonObject } from '@rollcall/protocol';
import type { FastifyInstance, FastifyRequest, preHandlerHookHandler, RouteOptions } from 'fastify';
import { addMisfit, findingsError, type Misfit } from '../../core/findings-error.ts';
import { ServiceError } from '../../core/service-error.ts';
import { isLargeBody } from '../bodies/body-memory.ts';
import { type BodyReading, bodyOf } from '../bodies/body-reading.ts';
import type { BodyThreads } from '../bodies/body-threads.ts';
import { type BodyRules, LARGE_BODIES } from '../bodies/large-bodies.ts';
import { MalformedQuery, NO_QUERY, type RawQuery } from '../query-string.ts';
import { queryReader } from '../query-values.ts';
import { NOTHING } from '../schemas.ts';

/**
 * Checks path, query and body of every route against its schema, as one request: each step of the contract's order
 * runs over all three before the next. Fastify's own validation stops at the first part that fails. A body above 256 KiB
 * is read on one of the `threads`, by the same rules.
 */
export function addRequestChecks(app: FastifyInstance, threads: BodyThreads): void {
  app.decorateRequest('misfit', null);
  app.setValidatorCompiler(() => () => true);
  // Bodies leave as the texts that presenters wrote; the response schemas describe them.
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('onRoute', (route) => {
    route.preHandler = requestCheck(route, threads);
  });
}

type Part = (request: FastifyRequest, findings: Findings) => void;

/** One part's findings, reused as long as nothing is found. */
let clean = new Findings();

function requestCheck(
  { schema = {}, config = {} }: RouteOptions,
  threads: BodyThreads,
): preHandlerHookHandler {
  const path = schema.params === undefined ? null : pathCheck(schema.params as ObjectSchema);
  const querySchema = (schema.querystring as ObjectSchema | undefined) ?? NOTHING;
  const query = queryCheck(querySchema);
  const queryRequired = querySchema.required !== undefined;
  const { rule, largeBody, rawBody = false, bodyOptional, refusesMisfit = false } = config;
  const rules: BodyRules =
    largeBody === undefined ? { schema: schema.body as ObjectSchema } : LARGE_BODIES[largeBody];
  const body = schema.body === undefined ? null : rawBody ? takeBytes : bodyCheck(rules, bodyOptional);
  const checkOthers = (request: FastifyRequest, ofBody: Findings | null) => {
    let misfit = ofBody;
    if (path !== null) misfit = found(path, request, misfit, inPath);
    if (queryRequired || request.query !== NO_QUERY) misfit = found(query, request, misfit, inQuery);
    if (rule !== undefined) misfit = found(rule, request, misfit, inBody);
    if (misfit !== null) {
      if (!refusesMisfit) throw findingsError(misfit);
      request.misfit = misfit;
    }
  };
  return (request, _reply, next) => {
    const { received } = request;
    if (largeBody !== undefined && received !== null && isLargeBody(received.length)) {
      const reading = threads.read(request.caller.project, largeBody, received);
      reading.then((read) => checkOthers(request, takeReading(request, read))).then(() => next(), next);
      return;
    }
    checkOthers(request, body === null ? null : found(body, request, null, inBody));
    next();
  };
}

const inPath = (place: string) => `${place} in the path`;
const inQuery = (place: string) => `query parameter ${place}`;
const inBody = (place: string) => place;

/** Runs the check of one part, and adds what it finds to what the parts before it found. */
function found(
  check: Part,
  request: FastifyRequest,
  before: Findings | null,
  rename: (place: string) => string,
): Findings | null {
  check(request, clean);
  if (clean.clean) return before;
  const all = before ?? new Findings();
  addMisfit(all, clean as Misfit, rename);
  clean = new Findings();
  return all;
}

/** An ID of printable ASCII, which nearly all are: it is legal, and the whole pattern costs several times more. */
const PLAIN_ID = /^[\x20-\x7e]{1,320}$/;

function pathCheck(schema: ObjectSchema): Part {
  const inspect = inspector(schema);
  return ({ params }, findings) => {
    const { id } = params as { id: string };
    if (!PLAIN_ID.test(id)) inspect(params, findings);
  };
}

function queryCheck(schema: ObjectSchema): Part {
  const read = queryReader(schema);
  return (request, findings) => {
    const raw = request.query as RawQuery | MalformedQuery;
    if (raw instanceof MalformedQuery)
      findings.invalid.add(raw.parameter, 'escapes of UTF-8, such as %C3%A9');
    request.query = read(raw instanceof MalformedQuery ? NO_QUERY : raw, findings);
  };
}

/** The body as bytes, for a handler that checks them. */
const takeBytes: Part = (request) => {
  request.body = request.received?.bytes();
};

function bodyCheck({ schema, rule }: BodyRules, optional = false): Part {
  const inspect = inspector(schema);
  return (request, findings) => {
    const { received } = request;
    const body = optional && !received?.length ? {} : jsonObject(received?.bytes());
    request.body = body;
    inspect(body, findings);
    rule?.(body, findings);
  };
}

function jsonObject(bytes: Uint8Array | undefined): object {
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof JsonObjectError) throw new ServiceError('invalid_request', error.message);
    throw error;
  }
}

/** Sets the body that a thread has read; returns its validation errors, or null when there are none. */
function takeReading(request: FastifyRequest, reading: BodyReading): Findings | null {
  if (reading.type === 'malformed') throw new ServiceError('invalid_request', reading.message);
  request.body = bodyOf(reading);
  if (reading.type === 'read') return null;
  const findings = new Findings();
  addMisfit(findings, reading.errors);
  return findings;
}
