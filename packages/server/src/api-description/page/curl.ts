import type { OpenApiDocument } from '../build-document.ts';
import type { Operation, Parameter } from '../openapi-document.ts';
import { jsonText } from './code.ts';
import { resolve } from './references.ts';
import { SERVER_ADDRESS } from './server-address.ts';

/** The shell variable with the token that opens the operation. */
const TOKEN_VARIABLES: Readonly<Record<string, string>> = {
  projectToken: '$TOKEN',
  customerToken: '$CUSTOMER_TOKEN',
  clientToken: '$CLIENT_TOKEN',
};

const INDENT = '  ';

/** Everything between single quotes is itself to a shell, but a single quote. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The call as lines to paste into a shell. `body` is a value that the operation takes, if it takes any. */
export function curlExample(
  document: OpenApiDocument,
  path: string,
  method: string,
  { parameters, security }: Operation,
  body: unknown,
): string {
  const known = parameters.map((parameter) => resolve<Parameter>(document, parameter));
  const [scheme] = security.flatMap((requirement) => Object.keys(requirement));
  const lines = [
    `curl -sS${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} ${quoted(SERVER_ADDRESS + target(path, known))}`,
  ];
  if (scheme !== undefined) lines.push(`-H "Authorization: Bearer ${TOKEN_VARIABLES[scheme]}"`);
  if (body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(jsonText(body, INDENT))}`);
  }
  return lines.join(` \\\n${INDENT}`);
}

function target(path: string, parameters: readonly Parameter[]): string {
  const filled = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((url, { name, example }) => url.replace(`{${name}}`, encodeURIComponent(String(example))), path);
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required === true)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
    .join('&');
  return query === '' ? filled : `${filled}?${query}`;
}
