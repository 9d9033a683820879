import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/index.js';
import { configOf, errorsOf, load, MINIMAL } from './support.js';

const EXAMPLE = `state_dir = "state"
[server]
listen = "0.0.0.0:3000"
[database]
url = "\${SVC_DATABASE_URL}"
[temporal]
address = "\${SVC_TEMPORAL_ADDRESS:-localhost:7233}"
[[databases]]
name = "ledger"
environments = ["staging", "production"]
[[auth.groups]]
name = "payments-leads"
roles = ["approver"]
[[workflows]]
database = "ledger"
environment = "production"
require_reason = true
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "payments-leads"
min = 1
[[workflows]]
environment = "staging"
auto_approve = { mode = "always" }
[[webhooks]]
id = "ops-feed"
url = "https://hooks.example.net/in"
events = ["request.*", "execution.failed"]
secret = "\${SVC_HOOK_SECRET}"
`;
const VARIABLES = { SVC_DATABASE_URL: 'postgres://svc@db/svc', SVC_HOOK_SECRET: 'a-long-enough-secret' };

describe('a loaded configuration', () => {
  it('is that of the documented example (configuration.md 12, CF-I7)', () => {
    const { shared, webhooks, temporal, retention } = configOf(EXAMPLE, VARIABLES);
    expect(temporal.address).toBe('localhost:7233');
    expect(retention.approvalTtlSecs).toBe(86_400);
    expect(webhooks[0]).toMatchObject({ id: 'ops-feed', secret: 'a-long-enough-secret', format: 'generic' });
    expect(shared.webhooks).toEqual([{ id: 'ops-feed', events: ['request.*', 'execution.failed'], format: 'generic' }]);
    expect(shared.workflows).toMatchObject([
      {
        id: 'wf:ledger:production:e3b0c44298fc',
        requireReason: true,
        autoApprove: null,
        steps: [{ mode: 'all', approvers: [{ selector: 'group:payments-leads', min: 1 }] }],
      },
      {
        id: 'wf:*:staging:e3b0c44298fc',
        autoApprove: { mode: 'always', risk: null, maxEstimatedRows: 1000, maxSnapshotAgeSecs: 86_400 },
        steps: [],
        pendingTtlSecs: null,
      },
    ]);
  });

  it('WF-4: has the steps of a workflow in order, each entry with its kind and the defaults of mode and min', () => {
    const { shared } = configOf(`${MINIMAL}[[auth.groups]]
name = "leads"
roles = ["approver"]
[[workflows]]
[[workflows.steps]]
approvers = [{ group = "leads" }, { role = "dba", min = 3 }]
[[workflows.steps]]
mode = "any"
approvers = [{ user = "mira" }, { group = "leads", min = 2 }]`);
    expect(shared.workflows[0]?.steps).toEqual([
      {
        mode: 'all',
        approvers: [
          { selector: 'group:leads', min: 1 },
          { selector: 'role:dba', min: 3 },
        ],
      },
      {
        mode: 'any',
        approvers: [
          { selector: 'user:mira', min: 1 },
          { selector: 'group:leads', min: 2 },
        ],
      },
    ]);
  });

  it('keeps secrets and URLs out of the shared part (CF-31)', () => {
    const text = JSON.stringify(configOf(EXAMPLE, VARIABLES).shared);
    expect(text).not.toContain('hooks.example.net');
    expect(text).not.toContain('a-long-enough-secret');
  });

  it('derives policy ids that survive a reload (PO-11)', () => {
    const { shared } = configOf(
      `${MINIMAL}[[workflows]]\noperations = ["execute_select", "execute_dml"]\nauto_approve = { mode = "always" }
      [[execution_policies]]\n[[result_policies]]\ndatabase = "app"\n[[sql_review]]\nenvironment = "qa"\n[[notification_policies]]`,
    );
    expect(shared.workflows[0]?.id).toBe('wf:*:*:986cbe396fb5');
    expect(
      [shared.executionPolicies, shared.resultPolicies, shared.sqlReview, shared.notificationPolicies].map(
        ([policy]) => policy?.id,
      ),
    ).toEqual(['ep:*:*', 'rp:app:*', 'srp:any:qa', 'np:*:*']);
  });

  it('is frozen at every depth', () => {
    const config = configOf(EXAMPLE, VARIABLES);
    expect(() => config.shared.workflows[0]?.steps.pop()).toThrow(TypeError);
  });

  it('has paths relative to the directory of the file (CF-2)', () => {
    const loaded = load(`${MINIMAL}ca_file = "server.toml"`);
    if (!loaded.ok) throw new Error('expected to load');
    const { file, stateDir, database, security, resultStorage } = loaded.config;
    const directory = file.replace(/\/server\.toml$/, '');
    expect(database.caFile).toBe(file);
    expect([stateDir, security.secretKeyFile, resultStorage.rootDir]).toEqual(
      ['', '/secret.key', '/results'].map((name) => `${directory}/state${name}`),
    );
    expect(security.secretKeyFileNamed).toBe(false);
  });

  it('counts an empty string of an optional key as absent, and of a required key as an error (CF-5)', () => {
    expect(configOf(`${MINIMAL}ca_file = ""`).database.caFile).toBeNull();
    expect(errorsOf(MINIMAL.replace('"state"', '""'))).toEqual(['server.toml:1:13: state_dir: must not be empty']);
  });

  it('turns TLS on by an API key or a TLS file', () => {
    expect(configOf(MINIMAL).temporal.tls).toBe(false);
    expect(configOf(`${MINIMAL}[temporal]\napi_key = "k"`).temporal.tls).toBe(true);
    expect(configOf(`${MINIMAL}[temporal.tls_files]\nserver_name = "t"`).temporal.tls).toBe(true);
  });

  it('lets an empty worker.listen switch it off, and a role of "" too', () => {
    const config = configOf(
      `${MINIMAL}[worker]\nlisten = ""\n[auth.oidc]\nissuer_url = "https://a.example.net"\naudience = "svc"\ndefault_role = ""`,
    );
    expect(config.worker.listen).toBeNull();
    expect(config.auth.oidc).toMatchObject({ issuer: 'https://a.example.net', clientId: null, defaultRole: null });
  });
});

it('reads a licence that fits its public key (OP-43, OP-47)', () => {
  const key =
    'svc_lic_v1.eyJrZXlfaWQiOiJsaWMtMDAwMSIsInBsYW4iOiJ0ZWFtIiwiaXNzdWVkX3RvIjoiRXhhbXBsZSBMdGQiLCJpc3N1ZWRfYXQiOiIyMDMxLTAxLTAxVDAwOjAwOjAwWiIsImV4cGlyZXNfYXQiOiIyMDMyLTAxLTAxVDAwOjAwOjAwWiJ9.77+Z6xQjWpI7rvbvRvO4QcPQXFCxc1Ob2T3roIT2Ius/a51j+XOsiA+4vNsnVU8xeRh0BBb2FtkJnsZGBfKuCw==';
  const publicKey = '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8';
  expect(configOf(`${MINIMAL}[license]\nkey = "${key}"\npublic_key = "${publicKey}"`).license.key).toBe(key);
});

it('refuses a file that is too large or no UTF-8', () => {
  expect(errorsOf(`#${' '.repeat(1_048_577)}`)).toEqual(['server.toml:1:1: is larger than 1 MiB']);
  expect(loadConfig(process.execPath, {})).toMatchObject({ ok: false });
});
