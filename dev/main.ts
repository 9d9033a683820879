import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { closingText } from './closing.js';
import { startDemo } from './demo-gateway.js';
import { lockFolder, removeLeftCluster, resetFolder } from './folder-lock.js';
import { startGiven } from './given-gateway.js';
import { defaultData, layoutOf } from './layout.js';
import { play, type Stage } from './play.js';
import { requirePort, usualPorts } from './ports.js';
import { createReport } from './report.js';
import { runSession } from './run-session.js';

export interface DevOptions {
  /** A user's own `server.toml`; null = the demo. */
  config: string | null;
  data: string | null;
  reset: boolean;
  /** With an identity provider, so that `svc login` can be tried; only for the demo. */
  oidc: boolean;
}

/** `svc dev`: runs server, worker, agent and their engines on this machine until Ctrl-C. Returns the exit code. */
export async function runDev(options: DevOptions): Promise<number> {
  if (options.oidc && options.config !== null) {
    process.stderr.write('error: --oidc is for the demo; a server.toml of your own names its provider under [auth.oidc]\n');
    return 2;
  }
  const report = createReport((text) => process.stdout.write(text));
  const layout = layoutOf(resolve(options.data ?? defaultData(options.config ?? undefined)));
  return runSession(async (session) => {
    const unlock = lockFolder(layout);
    session.atEnd(unlock);
    if (options.reset) await resetFolder(layout);
    const left = removeLeftCluster(layout);
    if (left !== null) report.line(`Removed ${left}: ${layout.data}, to which it belonged, was removed before`);
    if (options.config !== null) return startGiven(session, layout, options.config, report);
    const api = await requirePort('PORT', usualPorts.api);
    const ui = await requirePort('SVC_UI_PORT', usualPorts.ui, [api]);
    const ports = { api, ui, ...(options.oidc ? { oidc: await requirePort('SVC_OIDC_PORT', usualPorts.oidc, [api, ui]) } : {}) };
    report.line(`Starting the gateway in ${layout.data}`);
    const stage = await startDemo(session, layout, ports, report);
    if (!existsSync(layout.played)) await playFirst(stage);
    report.line(await closingText(stage, 'Ctrl-C stops everything; the data stays. From nothing again: npm start -- --reset'));
  });
}

/** Reports a failed step and leaves the gateway running for investigation. */
async function playFirst(stage: Stage): Promise<void> {
  try {
    await play(stage);
    writeFileSync(stage.layout.played, '');
  } catch (error) {
    stage.signal.throwIfAborted();
    process.stderr.write(`\nwarning: the play stopped: ${(error as Error).message}; the next start plays it again\n`);
  }
}
