import { once } from 'node:events';
import { type Agent, request } from 'node:http';

export interface Upload {
  /** Sends the other half and reads the answer. */
  finish(): Promise<{ status: number | undefined; text: string }>;
}

/** A PUT that the server has begun to read (it answered "100 Continue"), with half of the body sent. */
export async function halfSent(
  url: string,
  headers: Record<string, string>,
  body: string,
  agent?: Agent,
): Promise<Upload> {
  const length = String(Buffer.byteLength(body));
  const put = request(url, {
    method: 'PUT',
    agent,
    headers: { ...headers, expect: '100-continue', 'content-length': length },
  });
  const answered = once(put, 'response');
  // `finish` reports a server that ends first.
  answered.catch(() => {});
  put.flushHeaders();
  await once(put, 'continue');
  put.write(body.slice(0, 5));
  return {
    async finish() {
      put.end(body.slice(5));
      const [answer] = await answered;
      const text = (await answer.setEncoding('utf8').toArray()).join('');
      return { status: answer.statusCode, text };
    },
  };
}
