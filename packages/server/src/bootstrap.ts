import { randomBytes } from 'node:crypto';
import { limits } from '@rollcall/protocol';
import type { Settings } from './config/settings.ts';
import type { CustomerRecord, ProjectRecord, Store } from './store/store.ts';

/** What signs tokens: a customer's or a project's. Shown to the operator once, never logged. */
export interface Credentials {
  readonly id: string;
  readonly secret: string;
}

/** The customer and the project that a first start made. */
export interface FirstCredentials {
  readonly customer: Credentials;
  readonly project: Credentials;
}

/** A new secret, as strong as the longest HMAC in use: 48 bytes, base64url. */
export const newSecret = (): string => randomBytes(48).toString('base64url');

/** A new ID that no other has: the kind and 96 bits, base64url. */
export const newId = (kind: 'cus' | 'prj'): string => `${kind}_${randomBytes(12).toString('base64url')}`;

/** Creates the customer and the project that the settings name, where missing. What exists is left as it is. */
export async function createConfigured(store: Store, settings: Settings, now: number): Promise<void> {
  const { customerId, customerSecret, projectId, projectSecret } = settings;
  if (customerId !== null && customerSecret !== null) {
    await createCustomer(store, { id: customerId, secret: customerSecret }, now);
  }
  if (projectId === null || projectSecret === null) return;
  if ((await store.findProject(projectId)) !== null) return;
  const owner = customerId ?? (await firstCustomer(store, now));
  await createProject(store, owner, { id: projectId, secret: projectSecret }, now);
}

/** On a store without any customer: makes one customer with one project. Null when there is one already. */
export async function createFirst(store: Store, now: number): Promise<FirstCredentials | null> {
  const [existing] = await store.listCustomers();
  if (existing !== undefined) return null;
  const customer = { id: newId('cus'), secret: newSecret() };
  const project = { id: newId('prj'), secret: newSecret() };
  await createCustomer(store, customer, now);
  await createProject(store, customer.id, project, now);
  return { customer, project };
}

async function firstCustomer(store: Store, now: number): Promise<string> {
  const [existing] = await store.listCustomers();
  if (existing !== undefined) return existing.id;
  const customer = { id: newId('cus'), secret: newSecret() };
  await createCustomer(store, customer, now);
  return customer.id;
}

async function createCustomer(store: Store, customer: Credentials, now: number): Promise<void> {
  const record: CustomerRecord = { ...customer, name: nameFrom(customer.id), createdAt: now };
  await store.createCustomer(record);
}

async function createProject(
  store: Store,
  customerId: string,
  project: Credentials,
  now: number,
): Promise<void> {
  const record = { ...project, customerId, name: nameFrom(project.id), createdAt: now };
  await store.createProject(record satisfies Partial<ProjectRecord>);
}

/** A name for what was only given an ID, which may be longer than a name can be. */
const nameFrom = (id: string) => [...id].slice(0, limits.NAME_MAX_LENGTH).join('');
