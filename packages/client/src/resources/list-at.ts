import { type Filter, filterQuery } from '../http/filter.ts';
import { PagedList } from '../http/paged-list.ts';
import type { CallOptions, Transport } from '../http/transport.ts';

interface PageBody {
  readonly pagination: { readonly token: string | null; readonly total?: number };
}

/** The list whose entries an endpoint returns under `field`, beside `pagination`. */
export function listAt<Item>(
  transport: Transport,
  path: () => string,
  field: string,
  options?: CallOptions,
  filter: Filter = {},
): PagedList<Item> {
  return new PagedList(async (page) => {
    const query = { ...filterQuery(filter), ...page };
    const body = await transport.json<PageBody>('GET', path(), options, { query });
    const { [field]: items, pagination } = body as PageBody & Record<string, unknown>;
    return { items: items as Item[], next: pagination.token, total: pagination.total ?? null };
  });
}
