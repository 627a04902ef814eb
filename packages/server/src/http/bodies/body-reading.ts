/**
 * Reading a large body on a thread: what goes there, and what comes back. Lists of IDs come back packed (see
 * store/packed-ids.ts), so that what the event loop unpacks is small whatever the body was.
 */
import { Findings, inspector, JsonObjectError, parseJson, parseJsonObject } from '@rollcall/protocol';
import type { Misfit } from '../../core/findings-error.ts';
import { type PackedIds, packIds } from '../../store/packed-ids.ts';
import { type BodyRules, LARGE_BODIES, type LargeBodyName } from './large-bodies.ts';

export interface BodyTask {
  readonly name: LargeBodyName;
  /** The bytes of the body, moved to the thread. */
  readonly parts: readonly Uint8Array[];
}

export type BodyReading =
  /** It fits. */
  | {
      readonly type: 'read';
      /** Its fields but for those below. */
      readonly value: object;
      readonly lists: Readonly<Record<string, PackedIds>>;
      /** As JSON text: structured cloning fails on values that are nested deeply. */
      readonly metadata?: string;
    }
  /** It is a JSON object that does not fit; `fields` are those of the schema that it has. */
  | { readonly type: 'misfit'; readonly misfit: Misfit; readonly fields: readonly string[] }
  /** It is no JSON object; the message is safe to show. */
  | { readonly type: 'malformed'; readonly message: string };

export type FromBodyThread =
  | BodyReading
  | { readonly type: 'failed'; readonly message: string; readonly stack: string | undefined };

/** Parses and checks a body. For a thread: the largest takes seconds. */
export function readLargeBody({ name, parts }: BodyTask): BodyReading {
  const { schema, rule }: BodyRules = LARGE_BODIES[name];
  const findings = new Findings();
  try {
    const body = parseJsonObject(Buffer.concat(parts));
    inspector(schema)(body, findings);
    rule?.(body, findings);
    return findings.clean ? packed(body) : misfit(schema, body, findings);
  } catch (error) {
    if (error instanceof JsonObjectError) return { type: 'malformed', message: error.message };
    throw error;
  }
}

function misfit({ properties }: BodyRules['schema'], body: object, findings: Findings): BodyReading {
  const { unexpected, missing, invalid } = findings;
  const fields = Object.keys(properties).filter((field) => Object.hasOwn(body, field));
  return { type: 'misfit', misfit: { unexpected, missing, invalid }, fields };
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

/** The body as a handler takes it: with packed lists, or, of one that does not fit, with nothing but the names of its fields. */
export function bodyOf(reading: Exclude<BodyReading, { type: 'malformed' }>): object {
  if (reading.type === 'misfit') return Object.fromEntries(reading.fields.map((field) => [field, null]));
  const { value, lists, metadata } = reading;
  return { ...value, ...lists, ...(metadata !== undefined && { metadata: parseJson(metadata) }) };
}
