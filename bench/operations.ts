/** The operations that are measured: what is sent, in scattered order over the whole dataset, and what each must reach. */
import {
  type Dataset,
  groupId,
  groupMembers,
  largeGroupId,
  outsiders,
  PAGE_SIZE,
  randomNumbers,
  SMALL,
  userId,
} from './dataset.ts';
import { requestText } from './http.ts';

export interface Operation {
  readonly name: string;
  /** At least this share of the bare server's requests per second; null where there is no target. */
  readonly target: number | null;
  readonly isDurable: boolean;
  /** Whole requests, in the order in which they are sent. */
  requests(dataset: Dataset, token: string): string[];
}

/** So many different requests before the first one is sent again. */
const REQUESTS = 60_000;
/** Members of each group who are present at times: 9,000 pairs of user and group in the small dataset. */
const PRESENT_MEMBERS = 9;
const PARAGRAPHS = 7;

function requestsFor(bound: number, request: (index: number, step: number) => string): string[] {
  const numbers = randomNumbers(bound, 7);
  return Array.from({ length: REQUESTS }, (_, step) => request(numbers.next().value, step));
}

/** Remembers what is computed for each group while the requests of one operation are made. */
function oncePerGroup<Value>(compute: (index: number) => Value): (index: number) => Value {
  const values = new Map<number, Value>();
  return (index) => {
    const value = values.get(index) ?? compute(index);
    values.set(index, value);
    return value;
  };
}

export interface PresencePosition {
  readonly user: string;
  readonly group: string;
  readonly page: number;
  readonly paragraph: number;
}

function presenceWrite({ group, page, paragraph }: PresencePosition): object {
  const exclusiveWithin = { page: `page-${page}` };
  const location = { ...exclusiveWithin, paragraph: `paragraph-${paragraph}` };
  return { groupID: group, location, exclusiveWithin };
}

/** Sets the user present at a paragraph, one at a time within the page. */
export function presenceRequest(token: string, position: PresencePosition, flags: object = {}): string {
  const body = { ...presenceWrite(position), ...flags };
  return requestText('PUT', `/v1/users/${position.user}/presence`, token, body);
}

/** The same for several users in one request. */
export function presencesRequest(token: string, positions: readonly PresencePosition[]): string {
  const updates = positions.map((position) => ({ userID: position.user, ...presenceWrite(position) }));
  return requestText('PUT', '/v1/presence', token, { updates });
}

/** For pairs of a user and a group in scattered order; `request` also gets the number of the pair. */
function requestsForPairs(
  dataset: Dataset,
  request: (position: Omit<PresencePosition, 'paragraph'>, pair: number) => string,
): string[] {
  const membersOf = oncePerGroup((index) => groupMembers(dataset, index));
  return requestsFor(dataset.groups * PRESENT_MEMBERS, (pair) => {
    const index = Math.floor(pair / PRESENT_MEMBERS);
    const user = membersOf(index)[pair % PRESENT_MEMBERS] as string;
    return request({ user, group: groupId(index), page: index % 50 }, pair);
  });
}

/** Every update repeats the location of the last one. */
export const presenceRefreshes = (dataset: Dataset, token: string): string[] =>
  requestsForPairs(dataset, (position) => presenceRequest(token, { ...position, paragraph: 0 }));

/**
 * Of 20 updates one ends the presence, the next one of the same pair is an arrival, six move to another paragraph, and
 * the others are refreshes.
 */
function presenceUpdates(dataset: Dataset, token: string, flags: object, canLeave: boolean): string[] {
  const chances = randomNumbers(20, 11);
  const paragraphs = new Map<number, number>();
  return requestsForPairs(dataset, (position, pair) => {
    const chance = chances.next().value;
    const last = paragraphs.get(pair) ?? 0;
    if (chance === 0 && canLeave) {
      const location = { page: `page-${position.page}`, paragraph: `paragraph-${last}` };
      const body = { groupID: position.group, location, absent: true };
      return requestText('PUT', `/v1/users/${position.user}/presence`, token, body);
    }
    const paragraph = chance < 7 ? (last + 1) % PARAGRAPHS : last;
    paragraphs.set(pair, paragraph);
    return presenceRequest(token, { ...position, paragraph }, flags);
  });
}

/**
 * Each request turns something on or off that it found the other way. The second half of the requests repeats the indexes of
 * the first half, so all is off at the end.
 */
function toggles(bound: number, request: (index: number, isOn: boolean) => string): string[] {
  const numbers = randomNumbers(bound, 7);
  const half = Array.from({ length: REQUESTS / 2 }, () => numbers.next().value);
  const on = new Set<number>();
  return [...half, ...half].map((index) => {
    const isOn = !on.delete(index);
    if (isOn) on.add(index);
    return request(index, isOn);
  });
}

/** Each request replaces one member by a user who is none, or puts the member back: the groups keep their sizes. */
function memberSwaps(dataset: Dataset, token: string): string[] {
  const usersOf = oncePerGroup((index) => [groupMembers(dataset, index), outsiders(dataset, index)]);
  return toggles(dataset.groups * dataset.groupSize, (slot, isSwapped) => {
    const index = Math.floor(slot / dataset.groupSize);
    const [member, outsider] = usersOf(index).map((users) => users[slot % dataset.groupSize]);
    const body = isSwapped ? { add: [outsider], remove: [member] } : { add: [member], remove: [outsider] };
    return requestText('POST', `/v1/groups/${groupId(index)}/members`, token, body);
  });
}

export const OPERATIONS: readonly Operation[] = [
  {
    name: 'GET group',
    target: 0.6,
    isDurable: false,
    requests: (dataset, token) =>
      requestsFor(dataset.groups, (index) => requestText('GET', `/v1/groups/${groupId(index)}`, token)),
  },
  {
    name: 'GET user',
    target: 0.6,
    isDurable: false,
    requests: (dataset, token) =>
      requestsFor(dataset.users, (index) => requestText('GET', `/v1/users/${userId(index)}`, token)),
  },
  {
    name: 'GET preferences',
    target: 0.6,
    isDurable: false,
    requests: (dataset, token) =>
      requestsFor(dataset.users, (index) =>
        requestText('GET', `/v1/users/${userId(index)}/preferences`, token),
      ),
  },
  {
    name: `GET members (page of ${PAGE_SIZE})`,
    target: 0.15,
    isDurable: false,
    requests: (dataset, token) =>
      requestsFor(dataset.largeGroups, (index) =>
        requestText('GET', `/v1/groups/${largeGroupId(index)}/members?limit=${PAGE_SIZE}`, token),
      ),
  },
  {
    name: 'PUT presence',
    target: 0.35,
    isDurable: false,
    requests: (dataset, token) => presenceUpdates(dataset, token, {}, true),
  },
  {
    name: 'PUT presence, durable',
    target: null,
    isDurable: true,
    requests: (dataset, token) => presenceUpdates(dataset, token, { durable: true }, false),
  },
  {
    name: 'PUT group name',
    target: 0.12,
    isDurable: true,
    requests: (dataset, token) =>
      requestsFor(dataset.groups, (index, step) =>
        requestText('PUT', `/v1/groups/${groupId(index)}`, token, { name: `Name ${step}` }),
      ),
  },
  {
    name: 'POST members (add and remove)',
    target: 0.15,
    isDurable: true,
    requests: memberSwaps,
  },
  {
    name: 'PUT preferences',
    target: 0.12,
    isDurable: true,
    requests: (dataset, token) =>
      toggles(dataset.users, (index, isOn) => {
        const body = { key: 'notification_channels', value: { sendViaMessenger: !isOn } };
        return requestText('PUT', `/v1/users/${userId(index)}/preferences`, token, body);
      }),
  },
];

/** The requests of the operation with this name over the small dataset. */
export function requestsOf(name: string, token: string): string[] {
  const operation = OPERATIONS.find((each) => each.name === name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  return operation.requests(SMALL, token);
}
