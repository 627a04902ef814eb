import type { OpenApiDocument } from '../build-document.ts';
import type { Reference } from '../openapi-document.ts';

/** The object that a reference names; any other object is returned as it is. @throws Error for an unknown name */
export function resolve<T extends object>(document: OpenApiDocument, value: T | Reference): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T;
  const steps = value.$ref.replace(/^#\//, '').split('/');
  let found: unknown = document;
  for (const step of steps) found = (found as Record<string, unknown> | undefined)?.[step];
  if (found === undefined) throw new Error(`${value.$ref} is not in the document`);
  return found as T;
}

/** The last step of a reference: the component's name. */
export const nameOf = ($ref: string) => $ref.slice($ref.lastIndexOf('/') + 1);
