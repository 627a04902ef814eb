/** The data of a model, which outlives each store on it. */
import { randomBytes } from 'node:crypto';
import { DURABLE_BOUNDS, type DurableBounds } from '../../src/store/durable-bounds.ts';
import type { ChangeRecord } from '../../src/store/ports/changes.ts';
import type { CustomerRecord, ProjectRecord } from '../../src/store/ports/projects.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { copyEach, copyWorld } from './model-copies.ts';
import { emptyWorld, type World } from './model-world.ts';

export interface ModelProject {
  record: ProjectRecord;
  readonly world: World;
  readonly records: ChangeRecord[];
}

interface ModelSession {
  readonly id: string;
  readonly project: ProjectKey;
  readonly expiresAt: number;
  revoked: boolean;
}

export class ModelState {
  readonly customers = new Map<string, CustomerRecord>();
  readonly projects = new Map<ProjectKey, ModelProject>();
  readonly sessions = new Map<string, ModelSession>();
  serviceKey: Uint8Array = randomBytes(64);
  projectsEver = 0;
  readonly durableBounds: DurableBounds;

  constructor(durableBounds = DURABLE_BOUNDS) {
    this.durableBounds = durableBounds;
  }
}

/** A copy that shares only what no write changes in place. */
export const copyState = (state: ModelState): ModelState =>
  Object.assign(new ModelState(state.durableBounds), state, {
    customers: new Map(state.customers),
    sessions: copyEach(state.sessions, (session) => ({ ...session })),
    projects: copyEach(state.projects, ({ record, world, records }) => ({
      ...{ record, world: copyWorld(world), records: [...records] },
    })),
  });

export function addProject(state: ModelState, project: Omit<ProjectRecord, 'key'>): ProjectRecord {
  state.projectsEver += 1;
  const record = { ...project, key: state.projectsEver };
  state.projects.set(record.key, { record, world: emptyWorld(), records: [] });
  return record;
}
