/** The columns of a customer and of a project. */
import { columnsOf } from './columns.ts';
import type { CustomerRecord, ProjectRecord } from './ports/projects.ts';

export const CUSTOMER = columnsOf<CustomerRecord>({
  id: 'id',
  secret: 'secret',
  name: 'name',
  createdAt: 'created_at',
});

/** Of the project `p`; each engine has a key of its own. */
export const projectColumns = (key: string) =>
  columnsOf<ProjectRecord>({
    key,
    id: 'p.id',
    customerId: 'p.customer_id',
    name: 'p.name',
    secret: 'p.secret',
    previousSecret: 'p.previous_secret',
    previousValidUntil: 'p.previous_valid_until',
    createdAt: 'p.created_at',
  });
