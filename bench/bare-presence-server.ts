/**
 * The least that PUT presence over HTTP and Redis can be: a `node:http` server that reads the body, calls the script and
 * answers, without tokens, routes, checks, or a check of eligibility. Takes its options as JSON; prints
 * `{"port": …}` when it listens.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Batcher } from '../packages/server/src/concurrency/batcher.ts';
import { openPresenceCall, type PresenceStep } from './presence-call.ts';

export interface BarePresenceOptions {
  readonly redisUrl: string;
  readonly project: string;
  /** How many requests of one event-loop tick share a call. */
  readonly mostTogether: number;
}

const ANSWER = JSON.stringify({ success: true, message: 'updated presence of user u0123456789ab' });
const HEAD = {
  'x-request-id': 'bare',
  'content-type': 'application/json; charset=utf-8',
  'content-length': ANSWER.length,
};

const { redisUrl, project, mostTogether } = JSON.parse(process.argv[2] as string) as BarePresenceOptions;
const call = await openPresenceCall(redisUrl, project);
const batcher = new Batcher<'set', PresenceStep, unknown>(mostTogether, (_kind, steps) => call(steps));

function stepOf({ url = '' }: IncomingMessage, body: string): PresenceStep {
  const { groupID, location, exclusiveWithin } = JSON.parse(body);
  return {
    groupId: groupID,
    userId: url.split('/')[3] as string,
    region: JSON.stringify(exclusiveWithin),
    location: JSON.stringify(location),
  };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    await batcher.add('set', stepOf(request, Buffer.concat(chunks).toString()));
    response.writeHead(200, HEAD).end(ANSWER);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit(0));
