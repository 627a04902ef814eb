import { createHmac } from 'node:crypto';
import { limits } from '@rollcall/protocol';
import type { Settings } from './config/settings.ts';
import { type Credentials, ID_BYTES, newId, newProject, newSecret } from './core/clients/credentials.ts';
import type { CustomerRecord, NewProject } from './store/ports/projects.ts';
import type { Store } from './store/store.ts';

/** The customer and the project that a first start created. */
export interface FirstCredentials {
  readonly customer: Credentials;
  readonly project: Credentials;
}

/** Creates the customer and the project that the settings name, where missing. What exists is left as it is. */
export async function createConfigured(store: Store, settings: Settings, now: number): Promise<void> {
  const { customerId, customerSecret, projectId, projectSecret } = settings;
  if (customerId !== null && customerSecret !== null) {
    await createCustomer(store, { id: customerId, secret: customerSecret }, now);
  }
  if (projectId === null || projectSecret === null) return;
  if ((await store.projects.find(projectId)) !== null) return;
  const owner = customerId ?? (await firstCustomer(store, now));
  await createProject(store, owner, { id: projectId, secret: projectSecret }, now);
}

/**
 * Creates one customer with one project, in one commit, on a store without customers. Null where there is a customer, or where another
 * process that starts at the same time creates it. `requireOutput` throws where their secrets could not be shown: nothing is created.
 */
export async function createFirst(
  store: Store,
  now: number,
  requireOutput: () => void = () => {},
): Promise<FirstCredentials | null> {
  const [existing] = await store.customers.list();
  if (existing !== undefined) return null;
  requireOutput();
  const customer = { id: await firstCustomerId(store), secret: newSecret() };
  const project = { id: newId('prj'), secret: newSecret() };
  const isCreated = await createCustomer(store, customer, now, projectOf(customer.id, project, now));
  return isCreated ? { customer, project } : null;
}

async function firstCustomer(store: Store, now: number): Promise<string> {
  const [existing] = await store.customers.list();
  if (existing !== undefined) return existing.id;
  const id = await firstCustomerId(store);
  await createCustomer(store, { id, secret: newSecret() }, now);
  return id;
}

/**
 * The ID of a customer that no setting names: the same for all processes of a store, so that exactly one of those that start
 * at once creates the customer. It is derived from the service key, which is random in each store.
 */
async function firstCustomerId(store: Store): Promise<string> {
  const digest = createHmac('sha512', await store.sessions.serviceKey())
    .update('first customer')
    .digest();
  return `cus_${digest.subarray(0, ID_BYTES).toString('base64url')}`;
}

/** True when created here and now. */
function createCustomer(
  store: Store,
  customer: Credentials,
  now: number,
  project?: NewProject,
): Promise<boolean> {
  const record: CustomerRecord = { ...customer, name: nameFrom(customer.id), createdAt: now };
  return store.customers.create(record, project);
}

async function createProject(
  store: Store,
  customerId: string,
  project: Credentials,
  now: number,
): Promise<void> {
  await store.projects.create(projectOf(customerId, project, now));
}

const projectOf = (customerId: string, project: Credentials, now: number): NewProject =>
  newProject({ customerId, name: nameFrom(project.id) }, now, project);

/** The name of what only has an ID, which may be longer than a name can be. */
const nameFrom = (id: string) => [...id].slice(0, limits.NAME_MAX_LENGTH).join('');
