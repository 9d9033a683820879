import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayPlan } from '../dev/gateway.js';
import type { Session } from '../dev/session.js';
import { startLocalServer } from './local-server.js';
import { withOwnConfig } from './own-agent.js';

/** The plan with traces on, in every process. */
export async function withTraces(plan: GatewayPlan, folder: string, session: Session): Promise<GatewayPlan> {
  const toml = `\n[telemetry]\notlp_endpoint = "${await startCollector(session)}"\n`;
  const traced = withOwnConfig(plan, folder, toml);
  if (plan.agent === null) return traced;
  const config = join(folder, 'traced-agent.toml');
  writeFileSync(config, readFileSync(plan.agent.config, 'utf8') + toml);
  return { ...traced, agent: { ...plan.agent, config } };
}

/** Takes spans and throws them away, so that it costs next to nothing; returns its address. */
async function startCollector(session: Session): Promise<string> {
  const collector = await startLocalServer((call, answer) => {
    call.resume();
    call.once('end', () => answer.setHeader('content-type', 'application/json').end('{}'));
  });
  session.atEnd(collector.close);
  return collector.url;
}
