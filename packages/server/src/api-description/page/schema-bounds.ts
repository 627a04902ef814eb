import { withCommas } from '../../values/with-commas.ts';
import type { Schema } from '../openapi-document.ts';

const number = (value: unknown) => withCommas(Number(value));

export function boundsOf(schema: Schema): string[] {
  const { format, minimum, maximum, minLength, maxLength, minProperties, maxProperties } = schema;
  return [
    format === undefined ? null : String(format),
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ''),
    range(minProperties, maxProperties, ' keys'),
    schema.default === undefined ? null : `default ${defaultText(schema.default)}`,
  ].filter((bound) => bound !== null);
}

const defaultText = (value: unknown) => (typeof value === 'number' ? number(value) : String(value));

function range(from: unknown, to: unknown, unit: string): string | null {
  if (from === undefined) return to === undefined ? null : `at most ${number(to)}${unit}`;
  if (to === undefined) return `at least ${number(from)}${unit}`;
  return `${number(from)} to ${number(to)}${unit}`;
}
