/** The operations that are measured: what is sent, and what each must reach. */
import { type Dataset, drawn, largeGroupId, smallGroupId, smallGroupMembers, userId } from './dataset.ts';

export interface Operation {
  readonly name: string;
  /** At least this share of the bare server's requests per second. */
  readonly target: number;
  /** The same with the writer's thread on a core of its own; null for operations that do not write durably. */
  readonly targetOnTwoCores: number | null;
  /** Whole requests, enough of them that no answer repeats soon. */
  requests(dataset: Dataset, token: string): string[];
}

/** How many different requests one operation takes turns with. */
const REQUESTS = 20_000;

function http(method: string, path: string, token: string, body?: unknown): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const text = JSON.stringify(body);
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** One request for each of {@link REQUESTS} numbers drawn below `bound`. */
function forDrawn(bound: number, request: (index: number, turn: number) => string): string[] {
  const numbers = drawn(bound, 7);
  return Array.from({ length: REQUESTS }, (_, turn) => request(numbers.next().value, turn));
}

/** Members of small groups at a paragraph each, one at a time within a page; the same paragraph again is a refresh. */
function presenceRequests(dataset: Dataset, token: string, paragraph: (turn: number) => number): string[] {
  return forDrawn(dataset.smallGroups, (index, turn) => {
    const user = smallGroupMembers(dataset, index)[turn % 10] as string;
    return presenceRequest(token, {
      user,
      group: smallGroupId(index),
      page: index % 50,
      paragraph: paragraph(turn),
    });
  });
}

export interface Place {
  readonly user: string;
  readonly group: string;
  readonly page: number;
  readonly paragraph: number;
}

/** Sets the user present at a paragraph, one at a time within the page. */
export function presenceRequest(token: string, place: Place): string {
  return http('PUT', `/v1/users/${place.user}/presence`, token, presenceWrite(place));
}

/** The same for several users in one request. */
export function presencesRequest(token: string, places: readonly Place[]): string {
  const updates = places.map((place) => ({ userID: place.user, ...presenceWrite(place) }));
  return http('PUT', '/v1/presence', token, { updates });
}

function presenceWrite({ group, page, paragraph }: Place): object {
  const exclusiveWithin = { page: `page-${page}` };
  const location = { ...exclusiveWithin, paragraph: `paragraph-${paragraph}` };
  return { groupID: group, location, exclusiveWithin };
}

export const OPERATIONS: readonly Operation[] = [
  {
    name: 'GET group (10 members)',
    target: 0.6,
    targetOnTwoCores: null,
    requests: (dataset, token) =>
      forDrawn(dataset.smallGroups, (index) => http('GET', `/v1/groups/${smallGroupId(index)}`, token)),
  },
  {
    name: 'GET members page (100)',
    target: 0.15,
    targetOnTwoCores: null,
    requests: (dataset, token) =>
      forDrawn(dataset.largeGroups, (index) =>
        http('GET', `/v1/groups/${largeGroupId(index)}/members?limit=100`, token),
      ),
  },
  {
    name: 'PUT presence (refresh)',
    target: 0.4,
    targetOnTwoCores: null,
    requests: (dataset, token) => presenceRequests(dataset, token, () => 0),
  },
  {
    name: 'PUT presence (move)',
    target: 0.4,
    targetOnTwoCores: null,
    requests: (dataset, token) => presenceRequests(dataset, token, (turn) => turn % 7),
  },
  {
    name: 'GET preferences',
    target: 0.6,
    targetOnTwoCores: null,
    requests: (dataset, token) =>
      forDrawn(dataset.users, (index) => http('GET', `/v1/users/${userId(index)}/preferences`, token)),
  },
  {
    name: 'PUT group name (durable)',
    target: 0.12,
    targetOnTwoCores: 0.2,
    requests: (dataset, token) =>
      forDrawn(dataset.smallGroups, (index, turn) =>
        http('PUT', `/v1/groups/${smallGroupId(index)}`, token, { name: `Name ${turn}` }),
      ),
  },
  {
    name: 'POST members add+remove (durable)',
    target: 0.12,
    targetOnTwoCores: 0.2,
    requests: (dataset, token) =>
      forDrawn(dataset.smallGroups, (index, turn) => {
        const [one, two] = [userId(turn % dataset.users), userId((turn + 1) % dataset.users)];
        const body = turn % 2 === 0 ? { add: [one], remove: [two] } : { add: [two], remove: [one] };
        return http('POST', `/v1/groups/${smallGroupId(index)}/members`, token, body);
      }),
  },
  {
    name: 'PUT preferences (durable)',
    target: 0.12,
    targetOnTwoCores: 0.2,
    requests: (dataset, token) =>
      forDrawn(dataset.users, (index, turn) => {
        const value = { sendViaMessenger: turn % 2 === 0 };
        return http('PUT', `/v1/users/${userId(index)}/preferences`, token, {
          key: 'notification_channels',
          value,
        });
      }),
  },
];
