import { resolve } from 'node:path';
import { startDemo } from './demo-gateway.js';
import { lockFolder, resetFolder } from './folder-lock.js';
import { startGiven } from './given-gateway.js';
import { defaultData, layoutOf } from './layout.js';
import { requirePort } from './ports.js';
import { createReport } from './report.js';
import { runSession } from './run-session.js';

export interface DevOptions {
  /** A user's own `server.toml`; null = the demo. */
  config: string | null;
  data: string | null;
  reset: boolean;
}

const defaultPorts = { api: 3000, ui: 8233 };

/** `svc dev`: runs server, worker, agent and the engines they need on this machine until Ctrl-C. Answers the exit code. */
export async function runDev(options: DevOptions): Promise<number> {
  const report = createReport((text) => process.stdout.write(text));
  const layout = layoutOf(resolve(options.data ?? defaultData(options.config ?? undefined)));
  return runSession(async (session) => {
    const unlock = lockFolder(layout);
    session.atEnd(unlock);
    if (options.reset) await resetFolder(layout);
    const ui = await requirePort('SVC_UI_PORT', defaultPorts.ui);
    if (options.config !== null) return startGiven(session, layout, options.config, ui, report);
    const api = await requirePort('PORT', defaultPorts.api);
    report.line(`Starting the gateway in ${layout.data}`);
    return startDemo(session, layout, { api, ui }, report);
  });
}
