import { type Check, makeChecks } from '../../lib/checks.js';
import type { Context } from '../context.js';
import { callerChecks } from '../doctor/caller-checks.js';
import { localChecks } from '../doctor/local-checks.js';
import { explain, type Place } from '../doctor/place.js';
import { report } from '../doctor/report.js';
import { serverChecks } from '../doctor/server-checks.js';
import type { Answer } from '../output/output.js';

export interface DoctorOptions {
  timeout: number;
}

/** `svc doctor`: what is wrong with the way from here to the gateway, and what to do next (CL-45). */
export async function doctor(context: Context, _: readonly string[], options: DoctorOptions): Promise<Answer> {
  return report(await checkClient(context, options.timeout * 1000), context.output.style);
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
