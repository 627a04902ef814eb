import { Id } from '@rollcall/protocol';
import { PROJECT_ID } from '../http/operations/projects.ts';
import { nounOf, PATH_ID } from '../http/parameters/path-errors.ts';
import type { Parameter } from './openapi-document.ts';
import type { SchemaComponents } from './schema-components.ts';

/** Examples of IDs, by what they are IDs of. */
const EXAMPLES: Readonly<Record<string, string>> = {
  group: 'analysts',
  message: '81',
  organization: 'analysts',
  project: PROJECT_ID,
  thread: 'launch',
  user: 'ada',
  webhook: 'search-index',
};

/** `/v1/groups/:id` as `/v1/groups/{group_id}`. */
export function documentedPath(path: string): string {
  return path.replaceAll(PATH_ID, (_match, collection: string) => {
    return `${collection}/{${nounOf(collection)}_id}`;
  });
}

export const pathParameters = (path: string, schemas: SchemaComponents): Parameter[] =>
  [...path.matchAll(PATH_ID)].map(([, collection = '']) => {
    const noun = nounOf(collection);
    return {
      name: `${noun}_id`,
      in: 'path',
      description: `The ID of the ${noun}, percent-encoded.`,
      required: true,
      schema: schemas.describe(Id),
      example: EXAMPLES[noun],
    };
  });
