/** Carried records that are found without the key of a project: the service key, customers, projects, sessions. */
import { randomUUID } from 'node:crypto';
import { type Carried, type CarriedWrite, numbersOf, placed, plain, texts } from './postgres-carry-run.ts';

const PUT_SERVICE_KEY = `
  INSERT INTO store_secrets (name, value) VALUES ('service_key', $1)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

const PUT_CUSTOMERS = `
  INSERT INTO customers (id, secret, name, created_at)
  SELECT w.id, w.secret, w.name, w.created_at
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS w(id, secret, name, created_at)
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (id) DO UPDATE SET secret = excluded.secret, name = excluded.name, created_at = excluded.created_at`;

/** Places, from 1 on, of the projects whose customers are there. */
const FIND_CUSTOMERS = `
  SELECT w.place FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place) JOIN customers c ON c.id = w.id`;

const PUT_PROJECTS = `
  INSERT INTO projects (project_id, id, customer_id, name, secret, previous_secret, previous_valid_until, created_at)
  SELECT w.* FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[])
    AS w(project_id, id, customer_id, name, secret, previous_secret, previous_valid_until, created_at)
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (id) DO UPDATE SET customer_id = excluded.customer_id, name = excluded.name, secret = excluded.secret,
    previous_secret = excluded.previous_secret, previous_valid_until = excluded.previous_valid_until,
    created_at = excluded.created_at`;

/** A record may be older than the revocation here: a revoked session stays revoked. */
const PUT_SESSIONS = `
  INSERT INTO sessions (id, project_id, expires_at, revoked)
  SELECT w.* FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::boolean[]) AS w(id, project_id, expires_at, revoked)
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (id) DO UPDATE SET project_id = excluded.project_id, expires_at = excluded.expires_at,
    revoked = sessions.revoked OR excluded.revoked`;

export const putServiceKey: CarriedWrite<'serviceKey'> = async (transaction, [record]) => {
  await transaction.run([PUT_SERVICE_KEY, Buffer.from(record?.key as string, 'base64')]);
  return [0];
};

export const putCustomers: CarriedWrite<'customer'> = async (transaction, customers) => {
  const columns = [
    ...(['id', 'secret', 'name'] as const).map((field) => texts(customers, (customer) => customer[field])),
    plain(customers, ({ createdAt }) => createdAt),
  ];
  await transaction.run([PUT_CUSTOMERS, ...columns]);
  return customers.keys();
};

export const putProjects: CarriedWrite<'project'> = async (transaction, projects) => {
  const [rows] = await transaction.run([FIND_CUSTOMERS, texts(projects, ({ customerId }) => customerId)]);
  const places = numbersOf(rows).map((place) => place - 1);
  const found = places.map((place) => projects[place] as Carried<'project'>);
  const fields = ['id', 'customerId', 'name', 'secret', 'previousSecret'] as const;
  await transaction.run([
    PUT_PROJECTS,
    texts(found, () => randomUUID()),
    ...fields.map((field) => texts(found, (project) => project[field])),
    plain(found, ({ previousValidUntil }) => previousValidUntil),
    plain(found, ({ createdAt }) => createdAt),
  ]);
  return places;
};

export const putSessions: CarriedWrite<'session'> = async (transaction, records) => {
  const sessions = await placed(transaction, records);
  await transaction.run([
    PUT_SESSIONS,
    texts(sessions, ({ record }) => record.id),
    texts(sessions, ({ project }) => project),
    plain(sessions, ({ record }) => record.expiresAt),
    plain(sessions, ({ record }) => record.revoked),
  ]);
  return sessions.map(({ place }) => place);
};
