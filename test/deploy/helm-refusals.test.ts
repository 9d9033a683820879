import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileSchema } from '../../config/draft.js';
import { listKeys } from '../../config/known-keys.js';
import { temporaryFolder } from '../support/processes.js';
import { chartFolder, defaults, findHelm, runHelm } from './chart.js';

const program = findHelm(import.meta.url);

/** Public, the name of a file, or a number. */
const notSecret = ['license.public_key', 'temporal.tls_files.key', 'rate_limits.per_token', 'rate_limits.per_agent_token'];

describe.skipIf(program === null)('helm', () => {
  const toml = (part: 'gateway' | 'agent', ...changed: [from: string, to: string][]) => ({
    [part]: { config: changed.reduce((text, [from, to]) => text.replace(from, to), defaults[part].config as string) },
  });

  it.each<[says: string | RegExp, values: object]>([
    [/\/api\/replicas|api\.replicas/, { api: { replicas: 'two' } }],
    [/repliacs/, { api: { repliacs: 2 } }],
    [/digest/, { image: { agent: { digest: 'sha256:1' } } }],
    ['image.agent: tag and digest are both set', { image: { agent: { tag: '0.0.9', digest: `sha256:${'0'.repeat(64)}` } } }],
    [/\/gateway\/secret|gateway\.secret/, { gateway: { secret: '' } }],
    [/mounts/, { gateway: { mounts: [{ name: 'tls', mountPath: '/etc/tls' }] } }],
    [/mounts/, { agent: { mounts: [{ name: 'tokens', secret: 'x', mountPath: '/etc/tls' }] } }],
    [/SVC_PORT/, { gateway: { env: { SVC_PORT: 3000 } } }],
    ['gateway.config is no TOML', toml('gateway', ['[server]', '[server'])],
    ['gateway.config: state_dir must', toml('gateway', ['/var/lib/svc/state', 'state'])],
    ['gateway.config: worker.listen must', toml('gateway', ['0.0.0.0:3001', '127.0.0.1:3001'])],
    ['gateway.config: server.listen must', toml('gateway', ['0.0.0.0:3000', '127.0.0.1:3000'])],
    [
      'gateway.config: security.secret_key_file cannot',
      toml('gateway', ['[mcp]', '[security]\nsecret_key_file = "/etc/key"\n[mcp]']),
    ],
    [
      'gateway.config: server.drain_secs must be a number',
      toml('gateway', ['[server]', `[server]\ndrain_secs = "\${DRAIN:-60}"`]),
    ],
    ['gateway.config: trusted_proxies must', { api: { ingress: { enabled: true } } }],
    ['gateway.config: result_storage.bucket must name', toml('gateway', [`bucket = "\${SVC_RESULTS_BUCKET}"`, ''])],
    ['gateway.env.SVC_RESULTS_BUCKET must name', { gateway: { env: { SVC_RESULTS_BUCKET: '' } } }],
    [
      'gateway.env.BUCKET must name',
      { gateway: { env: { BUCKET: '' }, ...toml('gateway', ['SVC_RESULTS_BUCKET', 'BUCKET']).gateway } },
    ],
    ['gateway.resultsClaim must', toml('gateway', ['"s3"', '"local"'])],
    ['result_storage.root_dir must', { gateway: { ...toml('gateway', ['"s3"', '"local"']).gateway, resultsClaim: 'results' } }],
    ['gateway.config: database.url has a secret', toml('gateway', [`\${SVC_DATABASE_URL}`, 'postgres://svc:hunter2@db/svc'])],
    [
      'gateway.config: database.url has a secret',
      toml('gateway', [`\${SVC_DATABASE_URL}`, 'postgres://db/svc?password=hunter2']),
    ],
    ['gateway.config: bootstrap.admin_token has a secret', toml('gateway', [`\${SVC_BOOTSTRAP_ADMIN_TOKEN}`, `\${A:-hunter2}`])],
    [
      'gateway.config: server.public_url has a secret',
      toml('gateway', [`\${SVC_PUBLIC_URL}`, `https://x/svc_${'0'.repeat(32)}`]),
    ],
    ['gateway.config: webhooks.secret has a secret', toml('gateway', ['[mcp]', '[[webhooks]]\nsecret = "hunter2"\n[mcp]'])],
    [
      'gateway.config: webhooks.url has a secret',
      toml('gateway', ['[mcp]', '[[webhooks]]\nurl = "https://hooks.slack.com/services/T0/B0/hunter2"\n[mcp]']),
    ],
    ['agent.config is no TOML', toml('agent', ['[server]', 'server]'])],
    ['agent.config: probes.dir must', toml('agent', ['/var/lib/svc-agent/probes', 'state'])],
    [
      'agent.config: databases.shop.production.url has a secret',
      toml('agent', [`\${SHOP_PRODUCTION_URL}`, 'mysql://a:hunter2@b/c']),
    ],
    [
      'agent.config: server.agent_token_file must',
      { agent: { replicas: 2, ...toml('agent', [`\${SVC_AGENT_NAME}"\n\n[probes]`, 'x"\n\n[probes]']).agent } },
    ],
    ['agent.autoscaling.jobsPerAgent must', { agent: { autoscaling: { enabled: true, jobsPerAgent: 9 } } }],
  ])('refuses %s', (says, values) => {
    const { status, printed } = runHelm(program!, ['template', 'gate', chartFolder], values);
    expect({ status, printed }).toEqual({
      status: 1,
      printed: typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says),
    });
    expect(printed).not.toContain('hunter2');
  });

  it('refuses a secret in every key of server.toml that holds one', () => {
    const holders = listKeys(fileSchema)
      .map(({ path }) => path.replaceAll('[]', ''))
      .filter((path) => /(secret|token|password|key|key_id)$/.test(path) && !notSecret.includes(path));
    for (const path of holders) {
      const keys = path.split('.');
      const config = `${keys.slice(0, -1).length > 0 ? `[${keys.slice(0, -1).join('.')}]\n` : ''}${keys.at(-1)} = "hunter2"\n`;
      const { printed } = runHelm(program!, ['template', 'gate', chartFolder], { gateway: { config } });
      expect(printed).toContain(`gateway.config: ${path} has a secret in it`);
    }
  });

  it('names the Helm that it needs to one that reads no TOML', async () => {
    const chart = await temporaryFolder();
    cpSync(chartFolder, chart, { recursive: true });
    const file = join(chart, 'templates/_config.tpl');
    const older = [
      ['fromToml', 'unknownToIt'],
      ['.root.Capabilities.HelmVersion.Version', '"v3.16.4"'],
    ] as const;
    const text = older.reduce((text, [from, to]) => text.replaceAll(from, to), readFileSync(file, 'utf8'));
    for (const [from, to] of older)
      expect({ from: text.includes(from), to: text.includes(to) }).toEqual({ from: false, to: true });
    writeFileSync(file, text);
    const { status, printed } = runHelm(program!, ['template', 'gate', chart], {});
    expect({ status, printed }).toEqual({
      status: 1,
      printed: expect.stringContaining('this chart needs Helm 3.17 or newer, and this is v3.16.4'),
    });
  });
});
