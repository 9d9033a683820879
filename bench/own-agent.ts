import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../dev/child.js';
import type { AgentPlan, GatewayPlan } from '../dev/gateway.js';
import { clone } from '../dev/layout.js';
import { waitFor } from '../dev/wait-for.js';

const startWaitMs = 60_000;

/** Starts an agent with the configuration of `npm start`, and with further lines before its tables and further tables. */
export type StartAgent = (head: string, tables?: string) => Promise<OwnAgent>;

export interface OwnAgent {
  pid: number;
  stop(): Promise<void>;
}

const ordersToml = `
[[databases]]
name = "orders"
environments = ["staging"]
dialect = "mysql"

[[workflows]]
database = "orders"
auto_approve = { mode = "always" }
`;

/** The plan without an agent, with one more pair, on which everything passes. */
export const withOrders = (plan: GatewayPlan, folder: string): GatewayPlan => ({
  ...withOwnConfig(plan, folder, ordersToml),
  agent: null,
});

/** The plan with a `server.toml` of its own, which a bench may change. */
export function withOwnConfig(plan: GatewayPlan, folder: string, more = ''): GatewayPlan {
  const serverConfig = join(folder, 'server.toml');
  writeFileSync(serverConfig, readFileSync(plan.serverConfig, 'utf8') + more);
  return { ...plan, serverConfig };
}

export function agentStarter(plan: AgentPlan, folder: string): StartAgent {
  const config = join(folder, 'agent.toml');
  return async (head, tables = '') => {
    writeFileSync(config, [head, readFileSync(plan.config, 'utf8'), tables].join('\n'));
    await plan.prepare();
    const readyFile = plan.readyFile!;
    rmSync(readyFile, { force: true });
    const child = startChild({
      name: 'the agent',
      file: process.execPath,
      args: [join(clone, 'bin', 'svc-agent'), '--config', config],
      logFile: join(folder, 'run', 'agent.log'),
      deathSignal: 'SIGKILL',
      environment: plan.environment,
    });
    await waitFor('the agent', async () => existsSync(readyFile), { ms: startWaitMs });
    return { pid: child.pid, stop: () => child.stop('SIGTERM', 15_000) };
  };
}
