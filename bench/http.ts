/** Requests of the bench: as text for the load generator, or sent one at a time. */

export interface Address {
  readonly port: number;
}

/** A whole request as it goes over the wire. */
export function requestText(method: string, path: string, token: string, body?: unknown): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const text = JSON.stringify(body);
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** Sends one request; a body that is no text is sent as JSON. @throws Error when the answer is no success */
export async function send(
  { port }: Address,
  token: string,
  method: string,
  path: string,
  body?: object | string,
): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was rejected: ${text}`);
}

/** The JSON of an answer. @throws Error when it is no success */
export async function read<Answer>({ port }: Address, token: string, path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  if (!answer.ok) throw new Error(`GET ${path} was rejected: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}
