/**
 * Reading a large body on a thread: the task, the work and its result. The result has lists of IDs packed (see
 * store/worker-threads/packed-ids.ts), so that the event loop unpacks little, however large the body was.
 */
import { JsonObjectError, parseJson, parseJsonObject, ValidationErrors, validator } from '@rollcall/protocol';
import type { ErrorsByStep } from '../../core/validation-error.ts';
import { type PackedIds, packIds } from '../../store/worker-threads/packed-ids.ts';
import { type BodyRules, LARGE_BODIES, type LargeBodyName } from './large-bodies.ts';

export interface BodyTask {
  readonly name: LargeBodyName;
  /** The bytes of the body, moved to the thread. */
  readonly parts: readonly Uint8Array[];
}

export type BodyReading =
  /** The body is valid. */
  | {
      readonly type: 'read';
      /** The fields that are neither lists of IDs nor metadata. */
      readonly value: object;
      readonly lists: Readonly<Record<string, PackedIds>>;
      /** As JSON text: structured cloning fails on values that are nested deeply. */
      readonly metadata?: string;
    }
  /** The body is a JSON object with validation errors; `fields` are the fields of the schema that it has. */
  | { readonly type: 'invalid'; readonly errors: ErrorsByStep; readonly fields: readonly string[] }
  /** The body is no JSON object; the message is safe to show. */
  | { readonly type: 'malformed'; readonly message: string };

export type FromBodyThread = BodyReading | { readonly type: 'failed'; readonly error: unknown };

/** Parses and checks a body. For a thread: the largest takes seconds. */
export function readLargeBody({ name, parts }: BodyTask): BodyReading {
  const { schema, rule }: BodyRules = LARGE_BODIES[name];
  const errors = new ValidationErrors();
  try {
    const body = parseJsonObject(Buffer.concat(parts));
    validator(schema)(body, errors);
    rule?.(body, errors);
    return errors.clean ? packed(body) : invalid(schema, body, errors);
  } catch (error) {
    if (error instanceof JsonObjectError) return { type: 'malformed', message: error.message };
    throw error;
  }
}

function invalid({ properties }: BodyRules['schema'], body: object, errors: ValidationErrors): BodyReading {
  const { unexpected, missing, invalid: wrong } = errors;
  const fields = Object.keys(properties).filter((field) => Object.hasOwn(body, field));
  return { type: 'invalid', errors: { unexpected, missing, invalid: wrong }, fields };
}

function packed({ metadata, ...rest }: Readonly<Record<string, unknown>>): BodyReading {
  const value: Record<string, unknown> = {};
  const lists: Record<string, PackedIds> = {};
  for (const [field, of] of Object.entries(rest)) {
    if (isIdList(of)) lists[field] = packIds(of);
    else value[field] = of;
  }
  const reading = { type: 'read', value, lists } as const;
  return metadata === undefined ? reading : { ...reading, metadata: JSON.stringify(metadata) };
}

const isIdList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** The body for the handler: with packed lists, or, where it is invalid, with the names of its fields alone. */
export function bodyOf(reading: Exclude<BodyReading, { type: 'malformed' }>): object {
  if (reading.type === 'invalid') return Object.fromEntries(reading.fields.map((field) => [field, null]));
  const { value, lists, metadata } = reading;
  return { ...value, ...lists, ...(metadata !== undefined && { metadata: parseJson(metadata) }) };
}
