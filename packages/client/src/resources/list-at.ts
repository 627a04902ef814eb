import { PagedList } from '../http/paged-list.ts';
import type { Query } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';

interface Answer {
  readonly pagination: { readonly token: string | null; readonly total?: number };
}

/** The list that an endpoint answers under `field`, beside its `pagination`. */
export function listAt<Item>(
  transport: Transport,
  path: () => string,
  field: string,
  options?: CallOptions,
  filter?: Query,
): PagedList<Item> {
  return new PagedList(async ({ limit, token }) => {
    const query = { ...filter, limit, token };
    const answer = await transport.json<Answer>({ method: 'GET', path: path(), query }, options);
    const { [field]: items, pagination } = answer as Answer & Record<string, unknown>;
    return { items: items as Item[], next: pagination.token, total: pagination.total ?? null };
  });
}
