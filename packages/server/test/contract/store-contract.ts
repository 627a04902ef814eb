/**
 * The Store's contract as a library: an engine's test file calls {@link storeContract} with a way to make a store, and
 * every rule of store/store.ts becomes a test of that engine. No test depends on an engine.
 */
import { after, before, describe } from 'node:test';
import { batchContract } from './store/batch-contract.ts';
import { batchErrorContract } from './store/batch-error-contract.ts';
import { changeContract, memberChangeContract, splitChangeContract } from './store/change-contract.ts';
import { changeTopicContract } from './store/change-topic-contract.ts';
import { changeWriteContract, webhookChangeContract } from './store/change-write-contract.ts';
import { conversationFeedContract } from './store/conversation-feed-contract.ts';
import { durabilityContract } from './store/durability-contract.ts';
import { durableBoundsContract } from './store/durable-bounds-contract.ts';
import { durableEndingContract } from './store/durable-ending-contract.ts';
import { durableFilterContract } from './store/durable-filter-contract.ts';
import { durableListContract } from './store/durable-list-contract.ts';
import { presenceContract } from './store/durable-presence-contract.ts';
import { eligibilityContract } from './store/eligibility-contract.ts';
import { groupContract } from './store/group-contract.ts';
import { largeGroupContract } from './store/large-group-contract.ts';
import { manyWritesContract } from './store/many-writes-contract.ts';
import { membershipContract } from './store/membership-contract.ts';
import { messageAppendContract } from './store/message-append-contract.ts';
import { messageContract } from './store/message-contract.ts';
import { messageErrorContract } from './store/message-error-contract.ts';
import { messageListContract } from './store/message-list-contract.ts';
import { messageThreadContract } from './store/message-thread-contract.ts';
import { packedContract, withPackedLists } from './store/packed-contract.ts';
import { pageContract } from './store/page-contract.ts';
import { preconditionContract } from './store/precondition-contract.ts';
import { preferencesContract } from './store/preferences-contract.ts';
import { projectContract } from './store/project-contract.ts';
import { raceContract } from './store/race-contract.ts';
import { revisionContract } from './store/revision-contract.ts';
import { seenThreadContract } from './store/seen-thread-contract.ts';
import { sessionContract } from './store/session-contract.ts';
import { type MakeStoreSpace, StoreLab } from './store/store-lab.ts';
import { textContract } from './store/text-contract.ts';
import { threadContract } from './store/thread-contract.ts';
import { threadDeletionContract } from './store/thread-deletion-contract.ts';
import { threadListContract } from './store/thread-list-contract.ts';
import { transferContract } from './store/transfer-contract.ts';
import { transferConversationContract } from './store/transfer-conversation-contract.ts';
import { userContract } from './store/user-contract.ts';
import { webhookContract } from './store/webhook-contract.ts';
import { snapshotLimitContract, wholeListContract } from './store/whole-list-contract.ts';

const MANY_CHANGED = 'changes of more than 1,000 users';

const SUBJECTS: Readonly<Record<string, (lab: StoreLab) => void>> = {
  'customers and projects': projectContract,
  'sessions and the service key': sessionContract,
  groups: groupContract,
  memberships: membershipContract,
  users: userContract,
  'the batch': batchContract,
  'rejected batches': batchErrorContract,
  preferences: preferencesContract,
  eligibility: eligibilityContract,
  'durable presence': presenceContract,
  'the end of durable presence': durableEndingContract,
  'filters of durable presence': durableFilterContract,
  'bounds of durable presence': durableBoundsContract,
  'lists of durable presence': durableListContract,
  pages: pageContract,
  'whole lists': wholeListContract,
  preconditions: preconditionContract,
  revisions: revisionContract,
  'changes of writes': changeWriteContract,
  changes: changeContract,
  [MANY_CHANGED]: splitChangeContract,
  'topics of changes': changeTopicContract,
  'packed lists': packedContract,
  'writes at the same moment': manyWritesContract,
  races: raceContract,
  texts: textContract,
  durability: durabilityContract,
  'transfers of a whole store': transferContract,
};

/** Called by {@link conversationContract}. */
const CONVERSATIONS: Readonly<Record<string, (lab: StoreLab) => void>> = {
  threads: threadContract,
  'seen threads': seenThreadContract,
  'deleted threads': threadDeletionContract,
  'lists of threads': threadListContract,
  messages: messageContract,
  'rejected messages': messageErrorContract,
  'messages and their thread': messageThreadContract,
  'lists of messages': messageListContract,
  'texts that are appended to messages': messageAppendContract,
  'transfers of threads and messages': transferConversationContract,
};

/** The contracts with lists of members, which may be packed. */
const WITH_LISTS = ['groups', 'memberships', 'preconditions', 'changes of writes', MANY_CHANGED, 'races'];

/** The contracts of lists of members as long as large bodies have them, whose lists are always packed. */
const WITH_LONG_LISTS: Readonly<Record<string, (lab: StoreLab) => void>> = {
  'changes of many members': memberChangeContract,
  'large groups': largeGroupContract,
};

/** The contracts whose operations use sessions, transactions and snapshots of a database in every way that there is. */
const OF_SESSIONS = [
  ...['the batch', 'whole lists', 'changes of writes', 'changes', MANY_CHANGED],
  ...['writes at the same moment', 'races'],
];

/** The part of the contract that depends on what is between a store and its database. */
export function sessionContractSuite(name: string, makeSpace: MakeStoreSpace): void {
  const subjects = Object.entries(SUBJECTS).filter(([subject]) => OF_SESSIONS.includes(subject));
  suite(`the Store contract of sessions: ${name}`, makeSpace, subjects);
}

/** Registers the whole contract as a suite called `name`; every test has a project, or a store, of its own. */
export function storeContract(name: string, makeSpace: MakeStoreSpace): void {
  suite(`the Store contract: ${name}`, makeSpace, Object.entries(SUBJECTS));
  const withLists = Object.entries(SUBJECTS).filter(([subject]) => WITH_LISTS.includes(subject));
  suite(`the Store contract with packed lists: ${name}`, withPackedLists(makeSpace), [
    ...withLists,
    ...Object.entries(WITH_LONG_LISTS),
  ]);
}

/** The part of the contract that streams of messages depend on. */
export function conversationFeedSuite(name: string, makeSpace: MakeStoreSpace): void {
  suite(`the Store contract of streams of messages: ${name}`, makeSpace, [
    ['streams of messages', conversationFeedContract],
  ]);
}

/** The part of the contract that limits what readers cost an engine. */
export function snapshotLimitSuite(name: string, makeSpace: MakeStoreSpace): void {
  suite(`the Store contract of snapshots: ${name}`, makeSpace, [
    ['snapshots of readers', snapshotLimitContract],
  ]);
}

/** The part of the contract that webhooks depend on. */
export function webhookSuite(name: string, makeSpace: MakeStoreSpace): void {
  suite(`the Store contract of webhooks: ${name}`, makeSpace, [
    ['webhooks', webhookContract],
    ['changes of webhooks', webhookChangeContract],
  ]);
}

/** The part of the contract that is about threads and messages. */
export function conversationContract(name: string, makeSpace: MakeStoreSpace): void {
  suite(`the Store contract of conversations: ${name}`, makeSpace, Object.entries(CONVERSATIONS));
}

function suite(
  name: string,
  makeSpace: MakeStoreSpace,
  subjects: readonly (readonly [string, (lab: StoreLab) => void])[],
): void {
  describe(name, () => {
    const lab = new StoreLab(makeSpace);
    before(() => lab.open());
    after(() => lab.close());
    for (const [subject, contract] of subjects) describe(subject, () => contract(lab));
  });
}
