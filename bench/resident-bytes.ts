import { readFileSync } from 'node:fs';

/** Resident memory of a process, in bytes. */
export const residentBytes = (pid: number): number => statusBytes(pid, /VmRSS:\s+(\d+) kB/);

/** The same without pages of files, which the embedded store maps into memory and the system takes back as it likes. */
export const ownBytes = (pid: number): number => statusBytes(pid, /RssAnon:\s+(\d+) kB/);

const statusBytes = (pid: number, line: RegExp): number =>
  Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
