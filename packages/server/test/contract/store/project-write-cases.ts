/** What writes of projects, their access tokens and the record itself record. */
import { START, unique } from './roster.ts';
import { sessionOf, type Write, type WriteCases } from './write-cases.ts';

const deleteProject: Write = ({ store, key }) => store.projects.delete(key);
const revoke =
  (id?: string): Write =>
  (c) =>
    c.store.sessions.revoke(c.key, id ?? sessionOf(c), c.next());
const rename =
  (name: string): Write =>
  (c) =>
    c.store.projects.rename(c.key, name, c.next());
const rotateSecret: Write = (c) =>
  c.store.projects.rotateSecret(c.key, { secret: 's', previousValidUntil: START }, c.next());
const issue: Write = (c) =>
  c.store.sessions.create(c.key, { id: unique('session'), expiresAt: START }, c.next());

export const PROJECT_CASES: Pick<WriteCases, 'customers' | 'projects' | 'sessions' | 'changes'> = {
  customers: {
    create: {
      unrecorded: [
        [
          'a customer',
          ({ store }) =>
            store.customers.create({ id: unique('customer'), secret: 's', name: 'N', createdAt: START }),
          null,
        ],
      ],
    },
  },
  projects: {
    create: {
      unrecorded: [
        [
          'a project of a customer who is not there',
          ({ store }) =>
            store.projects.create({
              ...{ id: unique('project'), customerId: unique('none') },
              ...{ name: 'P', secret: 's', createdAt: START },
            }),
          'absent',
        ],
      ],
    },
    rename: {
      recorded: [['a new name of the project', rename('New'), ['project.renamed']]],
      unrecorded: [
        ['the same name of the project', rename('P'), 'unchanged'],
        ['a name of a project that was deleted', rename('New'), 'absent', deleteProject],
      ],
    },
    rotateSecret: {
      recorded: [['a new secret', rotateSecret, ['project.secret_rotated']]],
      unrecorded: [['a new secret of a project that was deleted', rotateSecret, 'absent', deleteProject]],
    },
    delete: {
      unrecorded: [
        ['a project that is deleted', deleteProject, null],
        ['a project that was deleted before', deleteProject, null, deleteProject],
      ],
    },
  },
  sessions: {
    serviceKey: {
      unrecorded: [['the key of the service', ({ store }) => store.sessions.serviceKey(), null]],
    },
    create: {
      recorded: [['an access token', issue, ['access_token.issued']]],
      unrecorded: [['an access token of a project that was deleted', issue, 'absent', deleteProject]],
    },
    revoke: {
      recorded: [['a revoked access token', revoke(), ['access_token.revoked']]],
      unrecorded: [
        ['an access token that was revoked before', revoke(), 'unchanged', revoke()],
        ['an access token that was never issued', revoke('none'), 'unchanged'],
      ],
    },
    removeExpired: {
      unrecorded: [
        ['access tokens that expired', ({ store }) => store.sessions.removeExpired(START + 1), null],
      ],
    },
  },
  changes: {
    removeBefore: {
      unrecorded: [['records that are removed', ({ store }) => store.changes.removeBefore(START), null]],
    },
  },
};
