import { mintProjectToken } from './auth/sign.ts';
import type { FirstCredentials } from './bootstrap.ts';
import { SETTINGS } from './config/setting-definitions.ts';

/**
 * What a first start shows, once: the credentials it made, and lines that work as pasted into a shell. The token in
 * them is valid for 24 hours.
 */
export async function announcement(
  { customer, project }: FirstCredentials,
  server: { readonly url: string; readonly dataDir: string; readonly now: number },
): Promise<string> {
  const token = await mintProjectToken(project.id, project.secret, server.now);
  const moreTokens = ['npx rollcall token', ...dataDirFlag(server.dataDir)].join(' ');
  return `
This is the first start on ${server.dataDir}. It made a customer, who owns projects, and a project.
Keep their secrets: they are not shown again.

  customer ID      ${customer.id}
  customer secret  ${customer.secret}
  project ID       ${project.id}
  project secret   ${project.secret}

Paste this into another terminal (the token is good for 24 hours; "${moreTokens}" prints a new one):

TOKEN=${token}
${curl('PUT', `${server.url}/v1/users/ada`, '{"name": "Ada Lovelace"}')}
${curl('PUT', `${server.url}/v1/groups/analysts`, '{"name": "Analysts", "members": ["ada"]}')}
${curl('GET', `${server.url}/v1/groups/analysts`)}
`;
}

function curl(method: string, url: string, body?: string): string {
  const data = body === undefined ? '' : ` -H 'Content-Type: application/json' -d '${body}'`;
  // The line break after the answer keeps the shell's prompt off it.
  return `curl -sS -w '\\n' -X ${method} -H "Authorization: Bearer $TOKEN"${data} '${url}'`;
}

function dataDirFlag(dataDir: string): string[] {
  return dataDir === SETTINGS.dataDir.default ? [] : ['--data-dir', quoted(dataDir)];
}

/** As one word of a POSIX shell. */
const quoted = (word: string) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
