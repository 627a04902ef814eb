import { isIPv6 } from 'node:net';
import { Id, limits, Name, type Schema, valueCheck } from '@rollcall/protocol';
import { readNetwork } from '../core/network.ts';

/** How the text of a setting is read, and what is expected: the words complete "expected …". */
export interface SettingKind<Value> {
  readonly expected: string;
  /** Undefined when the text is not of the kind. */
  read(text: string): Value | undefined;
}

/** The shortest secret that settings may have, in characters. Generated secrets are longer. */
const SECRET_MIN_LENGTH = 16;

/** Any text that is not empty. */
export const text = (expected: string): SettingKind<string> => ({
  expected,
  read: (value) => (value === '' || value.includes('\0') ? undefined : value),
});

/** An address or a name that can be resolved: without a port, brackets, or the beginning of a URL. */
export const host: SettingKind<string> = {
  expected: 'an address such as 127.0.0.1 or ::1, or a host name, without a port',
  read: (value) => (isIPv6(value.replace(ZONE, '')) || HOST.test(value) ? value : undefined),
};

/** The interface of a link-local address. */
const ZONE = /%[^\s\0/]+$/;
const HOST = /^[^\s\0/:@[\],*?#%]+$/;

/** A whole number in decimal digits, within bounds. */
export const wholeNumber = (minimum: number, maximum: number): SettingKind<number> => ({
  expected: `a whole number from ${minimum} to ${maximum}`,
  read(value) {
    if (!/^\d{1,15}$/.test(value)) return undefined;
    const number = Number(value);
    return number >= minimum && number <= maximum ? number : undefined;
  },
});

export const oneOf = <Choice extends string>(choices: readonly Choice[]): SettingKind<Choice> => ({
  expected: `one of ${choices.join(', ')}`,
  read: (value) => choices.find((choice) => choice === value),
});

/** A URL with one of these schemes and a host. The driver reads the rest of it. */
export const url = (...schemes: readonly string[]): SettingKind<string> => ({
  expected: `a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
  read(value) {
    const [, scheme, host] = /^([a-z]+):\/\/(?:[^/?#]*@)?([^/?#\s]*)/i.exec(value) ?? [];
    return schemes.includes(scheme?.toLowerCase() ?? '') && host !== '' ? value : undefined;
  },
});

/** Origins of web pages, as browsers write them, separated by commas; or `*`. */
export const origins: SettingKind<string> = {
  expected: 'origins such as https://app.example.com separated by commas, or *',
  read(value) {
    if (value.trim() === '*') return '*';
    const list = value.split(',').map((text) => originOf(text.trim()));
    return list.includes(null) ? undefined : [...new Set(list)].join(',');
  },
};

/** Null where the text is not exactly one origin: browsers send neither paths nor wildcards. */
function originOf(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.hostname.includes('*')) return null;
  return url.href === `${url.origin}/` ? url.origin : null;
}

/** Networks as address/prefix, separated by commas. An address alone is a network of its own. */
export const networks: SettingKind<string> = {
  expected: 'networks such as 10.0.0.0/8 separated by commas',
  read(value) {
    const list = value.split(',').map((text) => text.trim());
    return list.every((network) => readNetwork(network) !== null) ? [...new Set(list)].join(',') : undefined;
  },
};

/** A text by the rule of the API. */
function accepted(schema: Schema, expected: string): SettingKind<string> {
  const isAccepted = valueCheck(schema);
  return { expected, read: (value) => (isAccepted(value) ? value : undefined) };
}

/** A partner-specific ID. */
export const id = accepted(
  Id,
  `an ID of 1 to ${limits.ID_MAX_LENGTH} characters, none of them a control or format character`,
);
export const name = accepted(Name, String(Name.description));

export const secret: SettingKind<string> = {
  expected: `a secret of at least ${SECRET_MIN_LENGTH} characters`,
  read: (value) => (value.length >= SECRET_MIN_LENGTH ? value : undefined),
};
