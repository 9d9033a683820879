import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hundredths } from './statistics.js';

const ticksPerSecond = 100;

export interface Footprint {
  cpuSeconds: number;
  /** Memory of its own, and its share of what several processes map, with all its children. */
  memoryMib: number;
}

/** CPU time and memory of a process with its children, running and ended (Linux). */
export function footprintOf(pid: number): Footprint {
  const children = childrenOf(pid).map(footprintOf);
  const own = statOf(pid);
  const sum = (pick: (one: Footprint) => number) => children.reduce((total, child) => total + pick(child), 0);
  return {
    cpuSeconds: hundredths((own?.ticks ?? 0) / ticksPerSecond + sum((child) => child.cpuSeconds)),
    memoryMib: hundredths(memoryKib(pid) / 1024 + sum((child) => child.memoryMib)),
  };
}

export interface NamedProcess {
  name: string;
  pid: number;
}

/** The processes of a system, and one that runs Temporal elsewhere; 0 = none. */
export const watchedProcesses = (processes: readonly NamedProcess[], temporalPid: number): NamedProcess[] =>
  temporalPid === 0 ? [...processes] : [...processes, { name: 'Temporal with its own PostgreSQL', pid: temporalPid }];

/** Runs `work`, and tells how much of a core each process took meanwhile, and its memory at the end. */
export async function usageDuring<T>(processes: readonly NamedProcess[], work: () => Promise<T>) {
  const before = processes.map(({ pid }) => footprintOf(pid).cpuSeconds);
  const startedAt = performance.now();
  const result = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const rows = processes.map(({ name, pid }, index) => {
    const { cpuSeconds, memoryMib } = footprintOf(pid);
    return [name, { cpu_percent: hundredths(((cpuSeconds - before[index]!) * 100) / seconds), mib: memoryMib }];
  });
  const usage: Record<string, { cpu_percent: number; mib: number }> = Object.fromEntries(rows);
  return { result, usage };
}

/** Memory of a process and its descendants, now or at its peak. */
export const residentKib = (pid: number, field: 'VmRSS' | 'VmHWM') =>
  processesOf(pid).reduce((total, one) => total + statusKib(one, field), 0);

/** Starts to count the peak from here (Linux). */
export function forgetPeak(pid: number): void {
  for (const one of processesOf(pid)) writeFileSync(`/proc/${one}/clear_refs`, '5');
}

/** A process with all its descendants. */
const processesOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(processesOf)];

/** One of the sizes in `/proc/<pid>/status`. */
const statusKib = (pid: number, field: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(read(`/proc/${pid}/status`) ?? '')?.[1] ?? 0);

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => statOf(other)?.parent === pid);
}

/** Fields of `/proc/<pid>/stat` after the name: parent is the 2nd, own and reaped children's ticks the 12th to 15th. */
function statOf(pid: number): { parent: number; ticks: number } | null {
  const text = read(`/proc/${pid}/stat`);
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(fields[1]), ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) };
}

function memoryKib(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0);
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
