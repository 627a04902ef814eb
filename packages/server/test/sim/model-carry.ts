/** What the model hands to another store, and how it takes it. */
import type { CarriedRecord, CarryCounts, ProjectRecord, WriteStamp } from '../../src/store/store.ts';
import { addProject, type ModelProject, type ModelState } from './model-state.ts';
import { connectGroup, standing } from './model-world.ts';

/** All of it in one piece list: whoever wants pieces cuts it. */
export function carriedOf(state: ModelState): CarriedRecord[] {
  const projects = [...state.projects.values()];
  return [
    { type: 'serviceKey', key: Buffer.from(state.serviceKey).toString('base64') },
    ...[...state.customers.values()].map((customer) => ({ type: 'customer', ...customer }) as const),
    ...projects.map(({ record: { key: _, ...project } }) => ({ type: 'project', ...project }) as const),
    ...sessionsOf(state),
    ...projects.flatMap(recordsWithin),
  ];
}

function sessionsOf(state: ModelState): CarriedRecord[] {
  return [...state.sessions.values()].flatMap(({ project, ...session }) => {
    const projectId = state.projects.get(project)?.record.id;
    return projectId === undefined ? [] : [{ type: 'session', projectId, ...session } as const];
  });
}

function recordsWithin({ record: { id: projectId }, world }: ModelProject): CarriedRecord[] {
  const preferences = [...world.users.values()]
    .filter(({ channels }) => !(channels.sendViaMessenger && channels.sendViaEmail))
    .map(({ id, channels }) => ({ type: 'preferences', projectId, userId: id, ...channels }) as const);
  const workspaces = [...world.groups].flatMap(([groupId, { workspace }]) =>
    workspace === null ? [] : [{ type: 'workspace', projectId, groupId, workspace } as const],
  );
  const presence = world.presence.map((entry) => ({ type: 'durablePresence', projectId, ...entry }) as const);
  return [...preferences, ...workspaces, ...presence];
}

export function carryIn(
  state: ModelState,
  records: readonly CarriedRecord[],
  stamp: WriteStamp,
): CarryCounts {
  const written = records.filter((record) => take(state, record, stamp)).length;
  return { written, skipped: records.length - written };
}

/** False where what the record is about is not there. */
function take(state: ModelState, record: CarriedRecord, stamp: WriteStamp): boolean {
  switch (record.type) {
    case 'serviceKey':
      state.serviceKey = Buffer.from(record.key, 'base64');
      return true;
    case 'customer': {
      const { type: _, ...customer } = record;
      state.customers.set(customer.id, customer);
      return true;
    }
    case 'project':
      return takeProject(state, record);
    case 'session': {
      const { type: _, projectId, ...session } = record;
      const project = projectOf(state, projectId)?.record.key;
      const revoked = session.revoked || (state.sessions.get(session.id)?.revoked ?? false);
      if (project !== undefined) state.sessions.set(session.id, { ...session, project, revoked });
      return project !== undefined;
    }
    default:
      return takeWithin(projectOf(state, record.projectId), record, stamp);
  }
}

const projectOf = (state: ModelState, id: string) =>
  [...state.projects.values()].find(({ record }) => record.id === id);

function takeProject(
  state: ModelState,
  { type: _, ...project }: CarriedRecord & { type: 'project' },
): boolean {
  if (!state.customers.has(project.customerId)) return false;
  const present = projectOf(state, project.id);
  if (present === undefined) addProject(state, project);
  else present.record = { ...project, key: present.record.key } satisfies ProjectRecord;
  return true;
}

function takeWithin(
  project: ModelProject | undefined,
  record: Extract<CarriedRecord, { type: 'preferences' | 'workspace' | 'durablePresence' }>,
  stamp: WriteStamp,
): boolean {
  if (project === undefined) return false;
  const { world } = project;
  switch (record.type) {
    case 'preferences': {
      const user = world.users.get(record.userId);
      const { sendViaMessenger, sendViaEmail } = record;
      if (user !== undefined) user.channels = { sendViaMessenger, sendViaEmail };
      return user !== undefined;
    }
    case 'workspace':
      return connectGroup(world, record.groupId, record.workspace, stamp);
    case 'durablePresence': {
      const { type: _, projectId: __, ...entry } = record;
      if (standing(world, entry.groupId, entry.userId).incarnation === null) return false;
      const others = world.presence.filter(
        ({ groupId, userId, region }) =>
          groupId !== entry.groupId || userId !== entry.userId || region !== entry.region,
      );
      world.presence = [...others, entry];
      return true;
    }
  }
}
