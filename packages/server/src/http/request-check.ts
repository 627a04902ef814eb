import {
  Id,
  isId,
  JsonObjectError,
  limits,
  type ObjectSchema,
  parseJsonObject,
  ValidationErrors,
  validator,
} from '@rollcall/protocol';
import type { Caller } from '../core/caller.ts';
import { ServiceError } from '../core/service-error.ts';
import { mergeErrors, rejectInvalidWrite, validationError } from '../core/validation-error.ts';
import { isLargeBody } from './bodies/body-memory.ts';
import { type BodyReading, bodyOf } from './bodies/body-reading.ts';
import { type BodyRules, LARGE_BODIES } from './bodies/large-bodies.ts';
import { precondition } from './conditions.ts';
import type { Exchange } from './exchange.ts';
import type { HttpServices } from './http-services.ts';
import { readGroupId } from './older-names.ts';
import type { AnyOperation, PagedList } from './operation.ts';
import { ESCAPES_EXPECTED, MalformedQuery, NO_QUERY } from './parameters/query-string.ts';
import { queryReader } from './parameters/query-values.ts';
import { NOTHING, type PageQuery, TOKEN_EXPECTED } from './schemas.ts';

/** Checks a request and sets what its handler reads. @throws ServiceError (a rejection where a promise is returned) */
export type RequestCheck = (exchange: Exchange) => Promise<void> | undefined;

/** The check of one part of a request. */
type Part = (exchange: Exchange, errors: ValidationErrors) => void;

/** For the next request: one without errors leaves the same object. Null where one had some, or has thrown. */
let unused: ValidationErrors | null = null;

/**
 * Checks path, query and body of an operation as one request: each step of the contract's order (unexpected, missing,
 * invalid) runs over all three before the next. A body above 256 KiB is read on a thread, by the same rules.
 */
export function requestCheck(operation: AnyOperation, services: HttpServices): RequestCheck {
  const { path, body, list, creation } = operation;
  const querySchema = operation.query ?? NOTHING;
  const checkQuery = queryCheck(querySchema);
  const queryRequired = querySchema.required !== undefined;
  const checkIds = pathCheck(path);
  const checkBody = body === undefined ? null : body.isRaw === true ? takeBytes : bodyCheck(operation);
  const checkPage = list === undefined ? null : pageCheck(list, services);

  const finish = (exchange: Exchange, errors: ValidationErrors): Promise<never> | undefined => {
    const bodyErrors = errors.invalid.count;
    checkIds(exchange, errors);
    const hasIds = errors.invalid.count === bodyErrors;
    if (queryRequired || exchange.rawQuery !== NO_QUERY) checkQuery(exchange, errors);
    else exchange.query = NO_QUERY;
    checkPage?.(exchange, errors);
    // A rule would report as missing what is in the malformed query.
    if (!(exchange.rawQuery instanceof MalformedQuery)) operation.rule?.(exchange, errors, services);
    if (errors.clean) {
      unused = errors;
      return undefined;
    }
    if (creation !== undefined) {
      const condition = operation.conditions === undefined ? {} : precondition(exchange.headers);
      // What has an ID that is none does not exist, and PostgreSQL takes no NUL.
      const isThere = async () => hasIds && (await creation.exists(exchange, services));
      return rejectInvalidWrite(exchange.body as object, creation.required, condition, errors, isThere);
    }
    if (operation.rejectInvalid === undefined) throw validationError(errors);
    return operation.rejectInvalid(exchange, errors, services);
  };

  return (exchange) => {
    const { received } = exchange;
    if (body?.large !== undefined && received !== null && isLargeBody(received.length)) {
      const { project } = exchange.caller as Caller;
      const reading = services.bodyThreads.read(project, body.large, received);
      return reading.then((read) => finish(exchange, takeReading(exchange, read)));
    }
    const errors = unused ?? new ValidationErrors();
    unused = null;
    checkBody?.(exchange, errors);
    return finish(exchange, errors);
  };
}

/** An ID of printable ASCII, as nearly all are, is valid; the whole pattern costs several times more. */
const ASCII_ID = new RegExp(`^[\\x20-\\x7e]{1,${limits.ID_MAX_LENGTH}}$`);

/** Every parameter of a path is an ID. */
function pathCheck(path: string): Part {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  return ({ params }, errors) => {
    for (const name of names) {
      const value = params[name];
      if (value === undefined) errors.invalid.add(`${name} in the path`, ESCAPES_EXPECTED);
      else if (!ASCII_ID.test(value) && !isId(value))
        errors.invalid.add(`${name} in the path`, String(Id.description));
    }
  };
}

function queryCheck(schema: ObjectSchema): Part {
  const read = queryReader(schema);
  return (exchange, errors) => {
    const { rawQuery } = exchange;
    if (rawQuery instanceof MalformedQuery) {
      errors.invalid.add(inQuery(rawQuery.parameter), ESCAPES_EXPECTED);
      exchange.query = NO_QUERY;
    } else {
      const queryErrors = new ValidationErrors();
      exchange.query = read(rawQuery, queryErrors);
      if (!queryErrors.clean) mergeErrors(errors, queryErrors, inQuery);
    }
  };
}

const inQuery = (name: string) => `query parameter ${name}`;

/** Sets the list, whose name is per project, and the page of the query's `limit` and `token`. */
function pageCheck(
  { name, defaultLimit = limits.PAGE_DEFAULT_LIMIT }: PagedList<Exchange>,
  { pageTokens }: HttpServices,
): Part {
  return (exchange, errors) => {
    const { limit = defaultLimit, token } = exchange.query as PageQuery;
    const list = name(exchange);
    let after: string | null = null;
    if (list !== null) exchange.list = [(exchange.caller as Caller).project, ...list];
    if (typeof token === 'string' && list !== null) {
      after = pageTokens.read(exchange.list, token);
      if (after === null) errors.invalid.add('query parameter token', TOKEN_EXPECTED);
    }
    exchange.page = { after, limit };
  };
}

const takeBytes: Part = (exchange) => {
  exchange.body = exchange.received?.bytes();
};

function bodyCheck({ body }: AnyOperation): Part {
  const { schema, large, isOptional = false } = body as NonNullable<AnyOperation['body']>;
  const { rule }: BodyRules = large === undefined ? { schema } : LARGE_BODIES[large];
  const validate = validator(schema);
  return (exchange, errors) => {
    const { received } = exchange;
    const value = isOptional && !received?.length ? {} : jsonObject(received?.bytes());
    exchange.body = value;
    validate(value, errors);
    readGroupId(value, errors);
    rule?.(value, errors);
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

/** Sets the body that a thread has read, and returns its validation errors. */
function takeReading(exchange: Exchange, reading: BodyReading): ValidationErrors {
  if (reading.type === 'malformed') throw new ServiceError('invalid_request', reading.message);
  exchange.body = bodyOf(reading);
  const errors = new ValidationErrors();
  if (reading.type === 'invalid') mergeErrors(errors, reading.errors);
  return errors;
}
