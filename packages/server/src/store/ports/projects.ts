import type { ProjectKey } from '../../values/project-key.ts';
import type { Absent, AlreadyExists, Updated } from '../outcomes.ts';
import type { WriteContext } from '../write-context.ts';

export interface CustomerRecord {
  readonly id: string;
  readonly secret: string;
  readonly name: string;
  readonly createdAt: number;
}

export interface ProjectRecord {
  readonly key: ProjectKey;
  readonly id: string;
  readonly customerId: string;
  readonly name: string;
  /** Tokens are signed with the current secret, or with the previous one until `previousValidUntil`. */
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousValidUntil: number | null;
  readonly createdAt: number;
}

export type NewProject = Pick<ProjectRecord, 'id' | 'customerId' | 'name' | 'secret' | 'createdAt'>;

export interface NewSecret {
  readonly secret: string;
  readonly previousValidUntil: number;
}

type CreateProjectOutcome =
  | { readonly kind: 'created'; readonly project: ProjectRecord }
  | AlreadyExists
  | Absent;

/** Customers own projects. A customer is never changed or deleted. */
export interface CustomerStore {
  /**
   * True when created. An existing customer is left as it is. A first project is created in the same commit, with a customer that is
   * created; it rejects where another project has its ID.
   */
  create(customer: CustomerRecord, project?: NewProject): Promise<boolean>;
  find(id: string): Promise<CustomerRecord | null>;
  /** In order of ID. */
  list(): Promise<CustomerRecord[]>;
}

/** Projects and their secrets. */
export interface ProjectStore {
  /** Creates a project; `exists` when the ID is taken by any customer, `absent` when there is no such customer. */
  create(project: NewProject): Promise<CreateProjectOutcome>;
  find(id: string): Promise<ProjectRecord | null>;
  /** The customer's projects, or with null those of all customers, in order of ID. */
  list(customerId: string | null): Promise<ProjectRecord[]>;
  rename(project: ProjectKey, name: string, context: WriteContext): Promise<Updated | Absent>;
  /**
   * The current secret becomes the previous one, valid until then. One that ends with the write is not stored: a process whose
   * clock is behind, or is set back, would accept it again.
   */
  rotateSecret(project: ProjectKey, next: NewSecret, context: WriteContext): Promise<Updated | Absent>;
  /**
   * Removes the project and all of its data. From the moment this resolves its key is dead: writes with it reject with
   * `ProjectGoneError`, no read returns it any more, and a new project may take its ID and starts empty. A driver may
   * remove the data later, so a reader that has the key may see some of it for a while. False when there is no such
   * project.
   */
  delete(project: ProjectKey): Promise<boolean>;
}
