import type {
  CarriedRecord,
  CarryCounts,
  ProjectKey,
  Standing,
  StandingQuestion,
  Store,
} from '../../store/store.ts';
import type { CarryTarget } from './carry-records.ts';

type RosterRecord = Extract<CarriedRecord, { type: 'preferences' | 'workspace' | 'durablePresence' }>;

/** Names nobody: IDs have a character at least. */
const NOBODY = '';

/** Says what a store would take, and writes nothing; null stands for a store that is not there yet. */
export class CarryRehearsal implements CarryTarget {
  readonly #store: Store | null;
  readonly #customers = new Set<string>();
  /** Projects that would be there. Those that are new have no key yet, and nobody in them. */
  readonly #projects = new Map<string, ProjectKey | null>();

  constructor(store: Store | null) {
    this.#store = store;
  }

  async carryIn(records: readonly CarriedRecord[]): Promise<CarryCounts> {
    let written = 0;
    for (const [projectId, some] of Map.groupBy(records, projectIdOf)) {
      const rest = some.filter(isOfRoster);
      for (const record of some) if (!isOfRoster(record) && (await this.#takes(record))) written += 1;
      if (projectId !== null && rest.length > 0) written += await this.#countTaken(projectId, rest);
    }
    return { written, skipped: records.length - written };
  }

  async #takes(record: Exclude<CarriedRecord, RosterRecord>): Promise<boolean> {
    switch (record.type) {
      case 'serviceKey':
        return true;
      case 'customer':
        this.#customers.add(record.id);
        return true;
      case 'project':
        if (!(await this.#hasCustomer(record.customerId))) return false;
        this.#projects.set(record.id, await this.#keyOf(record.id));
        return true;
      case 'session':
        return this.#hasProject(record.projectId);
    }
  }

  async #countTaken(projectId: string, records: readonly RosterRecord[]): Promise<number> {
    const key = await this.#keyOf(projectId);
    if (key === null || this.#store === null) return 0;
    const standings = await this.#store.standings(key, records.map(questionOf));
    return records.filter((record, index) => isThere(record, standings[index] as Standing)).length;
  }

  async #hasCustomer(id: string): Promise<boolean> {
    return this.#customers.has(id) || ((await this.#store?.findCustomer(id)) ?? null) !== null;
  }

  async #hasProject(id: string): Promise<boolean> {
    return this.#projects.has(id) || (await this.#keyOf(id)) !== null;
  }

  async #keyOf(id: string): Promise<ProjectKey | null> {
    const known = this.#projects.get(id);
    return known !== undefined ? known : ((await this.#store?.findProject(id))?.key ?? null);
  }
}

const projectIdOf = (record: CarriedRecord) => ('projectId' in record ? record.projectId : null);

const isOfRoster = (record: CarriedRecord): record is RosterRecord =>
  record.type === 'preferences' || record.type === 'workspace' || record.type === 'durablePresence';

function questionOf(record: RosterRecord): StandingQuestion {
  return {
    groupId: record.type === 'preferences' ? NOBODY : record.groupId,
    userId: record.type === 'workspace' ? NOBODY : record.userId,
  };
}

function isThere({ type }: RosterRecord, { user, group, incarnation }: Standing): boolean {
  if (type === 'preferences') return user !== null;
  return type === 'workspace' ? group !== null : incarnation !== null;
}
