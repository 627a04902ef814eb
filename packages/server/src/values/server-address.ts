export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** For the message about a URL that cannot be read, where a name or a password in it has reserved characters. */
export const PERCENT_ENCODING =
  'in a name or a password, write %40 for @, %2F for /, %3F for ?, %23 for # and %25 for %';

const SHAPE = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*))(?::(\d{1,5}))?$/;

/** Reads the hosts of a URL: `host:port`, with commas between them. A host may be empty. Null where the text is malformed. */
export function readAddresses(text: string, defaultPort: number): ServerAddress[] | null {
  const addresses: ServerAddress[] = [];
  for (const part of text.split(',')) {
    const [, ipv6, name, digits] = SHAPE.exec(part) ?? [];
    const host = ipv6 ?? name;
    const port = Number(digits ?? defaultPort);
    if (host === undefined || port < 1 || port > 65_535) return null;
    addresses.push({ host, port });
  }
  return addresses;
}
