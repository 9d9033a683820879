import { findMariadb } from '../../dev/mariadb/program.js';
import { findTemporalProgram } from '../../dev/temporal/program.js';
import { getChromium } from './chromium.js';
import { findGoProgram } from './go-program.js';
import { helm } from './helm.js';
import { promtool } from './promtool.js';
import { findVersitygw } from './versitygw.js';

const waitMs = 30 * 60_000;

/** Gets the programs of the engines before a test run. A build takes minutes on all cores, and would slow the tests beside it. */
const options = {
  environment: process.env,
  report: (line: string) => console.log(line),
  signal: AbortSignal.timeout(waitMs),
};
await findTemporalProgram(options);
// Without these, their tests are skipped and named at the end of the run.
if (!process.env.SVC_TEST_S3_URL) await findVersitygw(options).catch(tell);
if (!process.env.SVC_TEST_MYSQL_URL) await findMariadb(options).catch(tell);
await getChromium(options).catch(tell);
// The product does not depend on them, and their builds are the longest of all.
if (process.env.CI === 'true') for (const program of [promtool, helm]) await findGoProgram(program, options).catch(tell);

function tell(error: Error): void {
  options.signal.throwIfAborted();
  console.log(error.message.split('\n', 1)[0]);
}
