import { PagedList } from '../http/paged-list.ts';
import type { Query } from '../http/path.ts';
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
  filter?: Query,
): PagedList<Item> {
  return new PagedList(async ({ limit, token }) => {
    const query = { ...filter, limit, token };
    const body = await transport.json<PageBody>({ method: 'GET', path: path(), query }, options);
    const { [field]: items, pagination } = body as PageBody & Record<string, unknown>;
    return { items: items as Item[], next: pagination.token, total: pagination.total ?? null };
  });
}
