import { formatProblem, loadConfigForUse } from '../config/index.js';
import { hangUpSignal } from '../runtime/hang-up.js';
import { createLog } from '../runtime/log.js';
import { StartError } from '../runtime/start-error.js';
import { stopSignals } from '../runtime/stop-signals.js';
import { version } from '../runtime/version.js';
import { reportStart } from './operations/start-report.js';
import { createServer } from './server.js';

export interface ServerOptions {
  config: string;
  /** Overrides `server.listen`. */
  listen: string | null;
  forceBootstrap: boolean;
}

/** `svc server` (OP-50 to OP-64): serves until a signal. The exit code is 0 after a clean stop, or 1 for an error, printed to stderr. */
export async function runServer(options: ServerOptions): Promise<number> {
  // Before the file is read: a signal that nobody listens to ends the process.
  const stop = stopSignals();
  const hangUp = hangUpSignal();
  try {
    return await serve(options, stop.signal, hangUp.connect);
  } finally {
    hangUp.release();
    stop.release();
  }
}

async function serve(
  { config: file, listen, forceBootstrap }: ServerOptions,
  signal: AbortSignal,
  onHangUp: (reload: () => void) => void,
): Promise<number> {
  const loaded = await loadConfigForUse(file, process.env);
  for (const warning of loaded.warnings) tell(`warning: ${formatProblem(warning)}`);
  if (!loaded.ok) return fail(loaded.errors.map(formatProblem));
  const { config } = loaded;
  const log = createLog({ process: 'server', version, ...config.logging });
  try {
    const server = await createServer({ config, listen, forceBootstrap, log, signal });
    onHangUp(server.reload);
    await reportStart({ ready: server.ready, temporalAddress: config.temporal.address, log, signal });
    await server.stopped;
    return 0;
  } catch (error) {
    if (error instanceof StartError) return fail(error.lines);
    // A signal during the start stops it before it serves.
    if (signal.aborted) return 0;
    log.error({ error: String(error), stack: error instanceof Error ? error.stack : undefined }, 'the server failed');
    return 1;
  }
}

function fail(lines: readonly string[]): number {
  lines.forEach(tell);
  return 1;
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
