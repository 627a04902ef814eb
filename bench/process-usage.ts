/** What the system says of a process. */
import { existsSync, readFileSync } from 'node:fs';

/** Processor time of a process and all its threads, in seconds; in hundredths of a second. */
export function processorSeconds(pid: number): number {
  if (!existsSync(`/proc/${pid}/stat`)) return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Resident memory of a process, in bytes. */
export const residentBytes = (pid: number): number => statusBytes(pid, /VmRSS:\s+(\d+) kB/);

/** The same without pages of files, which the embedded store maps into memory and the system takes back as it likes. */
export const ownBytes = (pid: number): number => statusBytes(pid, /RssAnon:\s+(\d+) kB/);

const statusBytes = (pid: number, line: RegExp): number =>
  Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
