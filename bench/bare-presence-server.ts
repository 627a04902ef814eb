/**
 * The least that PUT presence over HTTP and Redis can be: a `node:http` server that reads the body, calls the script and
 * answers, without tokens, routes, checks, or a check of eligibility. Takes its options as JSON; prints
 * `{"port": …}` when it listens.
 */
import type { IncomingMessage } from 'node:http';
import { Batcher } from '../packages/server/src/concurrency/batcher.ts';
import { serveBare } from './bare-http.ts';
import { openPresenceCall, type PresenceStep } from './presence-call.ts';

export interface BarePresenceOptions {
  readonly redisUrl: string;
  readonly project: string;
  /** How many requests of one event-loop tick share a call. */
  readonly mostTogether: number;
}

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

serveBare('updated presence of user u0123456789ab', (request, body) =>
  batcher.add('set', stepOf(request, body)),
);
