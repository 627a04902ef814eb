/** `.` and `..` are IDs too, which proxies would resolve. */
export const pathSegment = (id: string) => encodeURIComponent(id).replaceAll('.', '%2E');
