import { mintProjectToken } from './auth/sign.ts';
import type { FirstCredentials } from './bootstrap.ts';
import { SETTINGS, type Settings } from './config/setting-definitions.ts';

/** The server that created them: its settings and its URL. */
interface StartedServer extends Pick<Settings, 'dataDir' | 'databaseUrl'> {
  readonly url: string;
  readonly now: number;
}

/**
 * The text that a first start prints, once: the new credentials, and lines that work as pasted into a shell. Their token is
 * valid for 24 hours.
 */
export async function startMessage(
  { customer, project }: FirstCredentials,
  server: StartedServer,
): Promise<string> {
  const token = await mintProjectToken(project.id, project.secret, server.now);
  return `This is the first start on ${storeName(server)}. It made a customer, who owns projects, and a project.
Keep their secrets: they are not shown again.

  customer ID      ${customer.id}
  customer secret  ${customer.secret}
  project ID       ${project.id}
  project secret   ${project.secret}

The API, to read and to search in a browser: ${server.url}/docs

Paste this into another terminal (the token is good for 24 hours; ${moreTokens(server)} prints a new one):

${pasteLines(server.url, token)}
`;
}

/** Shell lines that create a user and a group, and read the group. */
export const pasteLines = (url: string, token: string): string =>
  [
    `TOKEN=${token}`,
    curl('PUT', `${url}/v1/users/ada`, '{"name": "Ada Lovelace"}'),
    curl('PUT', `${url}/v1/groups/analysts`, '{"name": "Analysts", "members": ["ada"]}'),
    curl('GET', `${url}/v1/groups/analysts`),
  ].join('\n');

function curl(method: string, url: string, body?: string): string {
  const data = body === undefined ? '' : ` -H 'Content-Type: application/json' -d '${body}'`;
  return `curl -sS -X ${method} -H "Authorization: Bearer $TOKEN"${data} '${url}'`;
}

/** The URL of a database contains a password: it is not shown. */
const storeName = ({ databaseUrl, dataDir }: StartedServer) =>
  databaseUrl === null ? dataDir : 'this database';

function moreTokens({ databaseUrl, dataDir }: StartedServer): string {
  if (databaseUrl !== null) return `"npx rollcall token" with the same ${SETTINGS.databaseUrl.env}`;
  const flag = dataDir === SETTINGS.dataDir.default ? '' : ` --data-dir ${quoted(dataDir)}`;
  return `"npx rollcall token${flag}"`;
}

/** As one word of a POSIX shell. */
const quoted = (word: string) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
