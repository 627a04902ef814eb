/** What outlives a model of the store that works on it. */
import { randomBytes } from 'node:crypto';
import { DURABLE_BOUNDS, type DurableBounds } from '../../src/store/durable-bounds.ts';
import type * as port from '../../src/store/store.ts';
import { emptyWorld, type World } from './model-world.ts';

export interface ModelProject {
  record: port.ProjectRecord;
  readonly world: World;
}

interface ModelSession {
  readonly id: string;
  readonly project: port.ProjectKey;
  readonly expiresAt: number;
  revoked: boolean;
}

export class ModelState {
  readonly customers = new Map<string, port.CustomerRecord>();
  readonly projects = new Map<port.ProjectKey, ModelProject>();
  readonly sessions = new Map<string, ModelSession>();
  serviceKey: Uint8Array = randomBytes(64);
  projectsEver = 0;
  readonly durableBounds: DurableBounds;

  constructor(durableBounds = DURABLE_BOUNDS) {
    this.durableBounds = durableBounds;
  }
}

export function addProject(state: ModelState, project: Omit<port.ProjectRecord, 'key'>): port.ProjectRecord {
  state.projectsEver += 1;
  const record = { ...project, key: state.projectsEver };
  state.projects.set(record.key, { record, world: emptyWorld() });
  return record;
}
