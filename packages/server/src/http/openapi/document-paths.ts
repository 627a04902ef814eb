import { Id } from '@rollcall/protocol';
import { PROJECT_ID } from './notes/project-notes.ts';
import type { Parameter } from './openapi-document.ts';
import type { SchemaComponents } from './schema-components.ts';

/** Whose ID stands in a path: in the description it is named after that, so that paths explain themselves. */
const NOUNS: Readonly<Record<string, { readonly noun: string; readonly example: string }>> = {
  groups: { noun: 'group', example: 'analysts' },
  organizations: { noun: 'organization', example: 'analysts' },
  projects: { noun: 'project', example: PROJECT_ID },
  users: { noun: 'user', example: 'ada' },
  // `/v1/<USER_ID>/preferences`
  v1: { noun: 'user', example: 'ada' },
};

/** The collections of the IDs in a path, in order. */
const collectionsOf = (url: string) => [...url.matchAll(/([^/]+)\/:id/g)].map(([, name = '']) => name);

const nounOf = (collection: string) => {
  const known = NOUNS[collection];
  if (known === undefined) throw new Error(`nothing is said of the ID after ${collection} in a path`);
  return known;
};

/** `/v1/groups/:id` as `/v1/groups/{group_id}`. */
export function documentedPath(url: string): string {
  return url.replaceAll(/([^/]+)\/:id/g, (_match, collection: string) => {
    return `${collection}/{${nounOf(collection).noun}_id}`;
  });
}

export function pathParameters(url: string, schemas: SchemaComponents): Parameter[] {
  return collectionsOf(url).map((collection) => {
    const { noun, example } = nounOf(collection);
    return {
      name: `${noun}_id`,
      in: 'path',
      description: `The ID of the ${noun}, percent-encoded.`,
      required: true,
      schema: schemas.describe(Id),
      example,
    };
  });
}
