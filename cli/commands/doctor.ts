import { resolve } from 'node:path';
import { type Check, makeChecks } from '../../lib/doctor-checks.js';
import type { Context } from '../context.js';
import { callerChecks } from '../doctor/caller-checks.js';
import { localChecks } from '../doctor/local-checks.js';
import { explain, type Place } from '../doctor/place.js';
import { report } from '../doctor/report.js';
import { serverChecks } from '../doctor/server-checks.js';
import { failure } from '../failure.js';
import type { Answer } from '../output/output.js';

export interface DoctorOptions {
  agent?: string;
  server?: string;
  timeout: number;
}

/** `svc doctor`: what is wrong with a set-up, and what to do next (CL-45). */
export async function doctor(context: Context, _: readonly string[], options: DoctorOptions): Promise<Answer> {
  return report(await checksOf(context, options), context.output);
}

async function checksOf(context: Context, { agent, server, timeout }: DoctorOptions): Promise<readonly Check[]> {
  if (agent === undefined && server === undefined) return checkClient(context, timeout * 1000);
  if (agent !== undefined && server !== undefined) throw failure('usage', '--agent and --server cannot be used together');
  const { loadAgentDoctor, loadServerDoctor } = await import('../host.js');
  const { environment: variables, directory } = context.terminal;
  if (server !== undefined) return (await loadServerDoctor()).doctorServer(resolve(directory, server), variables);
  const looks = { file: resolve(directory, agent!), variables, timeoutMs: timeout * 1000, signal: context.signal };
  const checks = await (await loadAgentDoctor()).doctorAgent(looks);
  context.signal.throwIfAborted();
  return checks;
}

async function checkClient(outer: Context, timeoutMs: number): Promise<Check[]> {
  const warnings: string[] = [];
  const context = outer.hearing((warning) => warnings.push(warning));
  const place: Place = { context, timeoutMs, heard: () => warnings.splice(0) };
  try {
    return await makeChecks([...localChecks(place), ...serverChecks(place), ...callerChecks(place)], (error) => {
      context.signal.throwIfAborted();
      return explain(error);
    });
  } finally {
    context.close();
  }
}
