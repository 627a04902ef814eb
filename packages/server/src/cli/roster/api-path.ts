/** `.` and `..` are IDs too, which proxies would resolve. */
export const pathSegment = (id: string) => encodeURIComponent(id).replaceAll('.', '%2E');

/** A page of a list. */
export const pagePath = (path: string, limit: number, token: string | null) =>
  `${path}?limit=${limit}${token === null ? '' : `&token=${encodeURIComponent(token)}`}`;
