import { existsSync, readFileSync } from 'node:fs';

/** Processor time of a process and all its threads, in seconds; in hundredths of a second. */
export function processorSeconds(pid: number): number {
  if (!existsSync(`/proc/${pid}/stat`)) return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
