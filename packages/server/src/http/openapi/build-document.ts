import manifest from '../../../package.json' with { type: 'json' };
import { GROUPS, ORGANIZATIONS } from '../routes/route-words.ts';
import { Failure } from '../schemas.ts';
import type { DescribedRoute } from './described-route.ts';
import { documentedPath } from './document-paths.ts';
import { INTRODUCTION, SECURITY_SCHEMES, TAGS } from './introduction.ts';
import { BATCH_NOTES } from './notes/batch-notes.ts';
import { CLIENT_NOTES } from './notes/client-notes.ts';
import { GROUP_NOTES } from './notes/group-notes.ts';
import { OPERATOR_NOTES } from './notes/operator-notes.ts';
import { PRESENCE_NOTES } from './notes/presence-notes.ts';
import { PROJECT_NOTES, TOKEN_NOTES } from './notes/project-notes.ts';
import { PREFERENCE_NOTES, USER_NOTES } from './notes/user-notes.ts';
import type { OpenApiDocument, Operation } from './openapi-document.ts';
import { describeOperation } from './operation.ts';
import type { NotesByOperation, OperationNotes } from './operation-notes.ts';
import { SchemaComponents } from './schema-components.ts';
import { HEADERS, PARAMETERS } from './shared-headers.ts';
import { EXAMPLES, RESPONSES } from './shared-responses.ts';

/** What is said of each operation; the organization alias has what is said of groups. */
export const NOTES: NotesByOperation = {
  ...GROUP_NOTES,
  ...USER_NOTES,
  ...PREFERENCE_NOTES,
  ...PRESENCE_NOTES,
  ...CLIENT_NOTES,
  ...BATCH_NOTES,
  ...PROJECT_NOTES,
  ...TOKEN_NOTES,
  ...OPERATOR_NOTES,
};

/** Describes the routes. @throws Error when nothing is said of one of them */
export function buildDocument(routes: readonly DescribedRoute[]): OpenApiDocument {
  const schemas = new SchemaComponents();
  schemas.describe(Failure);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    const path = documentedPath(route.url);
    const operations = paths[path] ?? {};
    operations[route.method.toLowerCase()] = describeOperation(route, notesOf(route), schemas);
    paths[path] = operations;
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Rollcall',
      version: manifest.version,
      summary: 'Who belongs, how to reach them, and who is where right now.',
      description: INTRODUCTION,
      license: { name: manifest.license, identifier: manifest.license },
    },
    servers: [{ url: '/', description: 'The server that this description comes from' }],
    tags: TAGS,
    paths,
    components: {
      schemas: schemas.all(),
      responses: RESPONSES,
      parameters: PARAMETERS,
      examples: EXAMPLES,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function notesOf({ url, schema: { operationId } }: DescribedRoute): OperationNotes {
  const isAlias = url.startsWith(ORGANIZATIONS.path);
  const known = NOTES[isAlias ? operationId.replace(ORGANIZATIONS.Noun, GROUPS.Noun) : operationId];
  if (known === undefined) throw new Error(`nothing is said of the operation ${operationId}`);
  return isAlias ? aliasNotes(known) : known;
}

/** The same in the older word. The codes keep theirs, but the one for what does not exist. */
function aliasNotes(notes: OperationNotes): OperationNotes {
  const text = JSON.stringify(notes)
    .replaceAll('group_not_found', 'organization_not_found')
    .replaceAll(/\ba group\b/g, 'an organization')
    .replaceAll(/\bgroup(s?)\b/g, 'organization$1');
  const description = `The older name of \`${GROUPS.path}\`: it does the same.`;
  return { ...(JSON.parse(text) as OperationNotes), description };
}
