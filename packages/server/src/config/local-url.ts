/** Loopback addresses by the address that listens on every interface. */
const LOOPBACK = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Where this machine reaches a server that listens at an address: `http://127.0.0.1:8080`. */
export function localUrl(host: string, port: number): string {
  const reached = LOOPBACK.get(host) ?? host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
