import { createReport } from './report.js';
import { findTemporalProgram } from './temporal/program.js';

/** Gets the Temporal program before a test run, since building it can take minutes. */
export async function main(): Promise<number> {
  const { line } = createReport((text) => process.stdout.write(text));
  try {
    await findTemporalProgram({ environment: process.env, report: line, signal: new AbortController().signal });
    return 0;
  } catch (error) {
    process.stderr.write(`error: ${(error as Error).message}\n`);
    return 1;
  }
}
