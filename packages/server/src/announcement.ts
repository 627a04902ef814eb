import { mintProjectToken } from './auth/sign.ts';
import type { FirstCredentials } from './bootstrap.ts';
import { SETTINGS, type Settings } from './config/setting-definitions.ts';

/** The server that made them, by its settings and where it is reached. */
export interface Announcer extends Pick<Settings, 'dataDir' | 'databaseUrl'> {
  readonly url: string;
  readonly now: number;
}

/**
 * What a first start shows, once: the credentials it made, and lines that work as pasted into a shell. The token in
 * them is valid for 24 hours.
 */
export async function announcement(
  { customer, project }: FirstCredentials,
  server: Announcer,
): Promise<string> {
  const token = await mintProjectToken(project.id, project.secret, server.now);
  return `
This is the first start on ${storeName(server)}. It made a customer, who owns projects, and a project.
Keep their secrets: they are not shown again.

  customer ID      ${customer.id}
  customer secret  ${customer.secret}
  project ID       ${project.id}
  project secret   ${project.secret}

Paste this into another terminal (the token is good for 24 hours; ${moreTokens(server)} prints a new one):

${pasteLines(server.url, token)}
`;
}

/** Lines that make a user and a group, and read it back, as pasted into a shell. */
export const pasteLines = (url: string, token: string): string =>
  [
    `TOKEN=${token}`,
    curl('PUT', `${url}/v1/users/ada`, '{"name": "Ada Lovelace"}'),
    curl('PUT', `${url}/v1/groups/analysts`, '{"name": "Analysts", "members": ["ada"]}'),
    curl('GET', `${url}/v1/groups/analysts`),
  ].join('\n');

function curl(method: string, url: string, body?: string): string {
  const data = body === undefined ? '' : ` -H 'Content-Type: application/json' -d '${body}'`;
  // The line break after the answer keeps the shell's prompt off it.
  return `curl -sS -w '\\n' -X ${method} -H "Authorization: Bearer $TOKEN"${data} '${url}'`;
}

/** The URL of a database has a password in it: it is not shown. */
const storeName = ({ databaseUrl, dataDir }: Announcer) => (databaseUrl === null ? dataDir : 'this database');

function moreTokens({ databaseUrl, dataDir }: Announcer): string {
  if (databaseUrl !== null) return `"npx rollcall token" with the same ${SETTINGS.databaseUrl.env}`;
  const flag = dataDir === SETTINGS.dataDir.default ? '' : ` --data-dir ${quoted(dataDir)}`;
  return `"npx rollcall token${flag}"`;
}

/** As one word of a POSIX shell. */
const quoted = (word: string) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
