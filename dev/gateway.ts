import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ChildOptions, startChild } from './child.js';
import { clone, type Layout } from './layout.js';
import type { Report } from './report.js';
import type { Session } from './session.js';
import { answersOk, waitFor } from './wait-for.js';

export interface GatewayPlan {
  serverConfig: string;
  /** Overrides the file's `server.listen`; null keeps it. */
  listen: string | null;
  /** The server's address, without a trailing slash. */
  serverUrl: string;
  /** The address of the worker's probes; null = none. */
  workerUrl: string | null;
  environment: NodeJS.ProcessEnv;
  /** Null runs no agent. */
  agent: AgentPlan | null;
}

export interface AgentPlan {
  config: string;
  /** The file that signals readiness; null when the agent's own configuration decides its path. */
  readyFile: string | null;
  environment: NodeJS.ProcessEnv;
  /** Prepares what needs the server, whose first start creates the signing keys. */
  prepare(): Promise<void>;
}

const startWaitMs = 90_000;

/** Starts server, worker and agent as child processes of the session and waits until each is ready. */
export async function addGateway(session: Session, layout: Layout, plan: GatewayPlan, report: Report): Promise<void> {
  const listen = plan.listen === null ? [] : ['--listen', plan.listen];
  const until = (name: 'server' | 'worker', isReady: () => Promise<boolean>) =>
    waitFor(`the ${name}`, isReady, { ms: startWaitMs, signal: session.signal, logFile: logOf(layout, name) });
  const serverDone = report.begin('server');
  const workerDone = report.begin('worker');
  const { serverConfig, environment } = plan;
  const serverArgs = ['server', '--config', serverConfig, ...listen];
  addProgram(session, layout, { name: 'server', args: serverArgs, environment, graceMs: 30_000 });
  addProgram(session, layout, { name: 'worker', args: ['worker', '--config', serverConfig], environment, graceMs: 30_000 });
  await until('server', () => answersOk(`${plan.serverUrl}/health`));
  serverDone(plan.serverUrl);
  const { agent, workerUrl } = plan;
  if (agent !== null) await addAgent(session, layout, agent, report);
  if (workerUrl !== null) await until('worker', () => answersOk(`${workerUrl}/ready`));
  await waitFor('the gateway', () => answersOk(`${plan.serverUrl}/ready`), { ms: startWaitMs, signal: session.signal });
  session.giveWay();
  workerDone(workerUrl ?? '');
}

/** Needs the running server, whose first start creates the agent's token. */
async function addAgent(session: Session, layout: Layout, agent: AgentPlan, report: Report): Promise<void> {
  const done = report.begin('agent');
  const { readyFile } = agent;
  await agent.prepare();
  if (readyFile !== null) rmSync(readyFile, { force: true });
  const { config, environment } = agent;
  addProgram(session, layout, { name: 'agent', args: ['--config', config], environment, graceMs: 15_000 });
  const isReady = async () => readyFile === null || existsSync(readyFile);
  await waitFor('the agent', isReady, { ms: startWaitMs, signal: session.signal, logFile: logOf(layout, 'agent') });
  done('');
}

interface GatewayProgram {
  name: 'server' | 'worker' | 'agent';
  args: string[];
  environment: NodeJS.ProcessEnv;
  graceMs: number;
}

const logOf = ({ run }: Layout, name: GatewayProgram['name']) => join(run, `${name}.log`);

/** Killed with this process: their work survives a kill by design, and a drain would hold the ports of the next start. */
function addProgram(session: Session, layout: Layout, { name, args, environment, graceMs }: GatewayProgram): void {
  const launcher = join(clone, 'bin', name === 'agent' ? 'svc-agent' : 'svc');
  const options: ChildOptions = {
    name: `the ${name}`,
    file: process.execPath,
    args: [launcher, ...args],
    logFile: logOf(layout, name),
    deathSignal: 'SIGKILL',
    environment,
  };
  const child = startChild(options);
  const part = { child, stop: () => child.stop('SIGTERM', graceMs) };
  session.add(name === 'worker' ? { ...part, yields: true } : part);
}
