import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/index.js';
import { configOf, errorsOf, load, MINIMAL, warningsOf } from './support.js';

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
  it('is that of the documented example (configuration.md 12)', () => {
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
        autoApprove: { mode: 'always', risk: null, maxEstimatedRows: 1000 },
        steps: [],
        pendingTtlSecs: null,
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

describe('the environment', () => {
  it('supplies four variables: keys of the file win for the licence, the variables for logging (CF-7, OP-93)', () => {
    const SVC_SECRET_KEY = 'AB'.repeat(32);
    const config = configOf(`${MINIMAL}[logging]\nlevel = "error"\nformat = "json"`, {
      SVC_SECRET_KEY,
      SVC_LOG_LEVEL: 'debug',
      SVC_LOG_FORMAT: 'text',
    });
    expect(config.security.secretKey).toBe('ab'.repeat(32));
    expect(config.logging).toEqual({ level: 'debug', format: 'text' });
    expect(errorsOf(MINIMAL, { SVC_LICENSE_KEY: 'x' })).toEqual(['server.toml:1:1: license.key: needs license.public_key']);
    expect(errorsOf(MINIMAL, { SVC_LOG_LEVEL: 'loud' })).toEqual([
      'server.toml:1:1: SVC_LOG_LEVEL: environment variable must be one of error, warn, info, debug',
    ]);
  });

  it('gives the two addresses of svc dev where the file has none (OP-53)', () => {
    const environment = { SVC_DEV_DATABASE_URL: 'postgres://dev@localhost/svc', SVC_DEV_TEMPORAL_ADDRESS: 'localhost:17233' };
    const bare = configOf('state_dir = "state"', environment);
    expect([bare.database.url, bare.temporal.address]).toEqual(['postgres://dev@localhost/svc', 'localhost:17233']);
    const own = configOf(`${MINIMAL}[temporal]\naddress = "t:1"`, environment);
    expect([own.database.url, own.temporal.address]).toEqual(['postgres://svc:pw@localhost/svc', 't:1']);
  });

  it('is expanded inside strings: value, default, literal, and an empty variable counts as defined (CF-3)', () => {
    const region = (value: string, environment = {}) =>
      configOf(`${MINIMAL}[result_storage]\nprefix = ${value}`, environment).resultStorage.prefix;
    expect(region(`"a-\${B}-c"`, { B: 'x' })).toBe('a-x-c');
    expect(region(`"\${B:-dflt}"`)).toBe('dflt');
    expect(region(`"$\${B} \${C}"`, { C: 'c' })).toBe(`\${B} c`);
    expect(errorsOf(`${MINIMAL}[result_storage]\nprefix = "\${B:-d}"`, { B: '' })).toEqual([
      'server.toml:5:10: result_storage.prefix: must not be empty',
    ]);
    expect(region(`"\${B}"`, { B: `\${C}` })).toBe(`\${C}`);
    expect(region(`'x' # \${COMMENT}`)).toBe('x');
  });

  it.each([
    [`\${A:-\${B}}`, 'a default cannot contain ${'],
    ['${A', 'unclosed ${'],
    [`\${1A}`, 'no variable name after ${ (write $${ for a literal ${)'],
    [`\${A}`, 'environment variable A is not set'],
    [`\${constructor}`, 'environment variable constructor is not set'],
  ])('is refused at the value of %j', (value, message) => {
    expect(errorsOf(`${MINIMAL}[server]\nlisten = "${value}"`)).toEqual([`server.toml:5:10: server.listen: ${message}`]);
  });

  it('is converted to integers and booleans after expansion only', () => {
    const text = `${MINIMAL}[server]\ndrain_secs = "\${N}"\npublic_docs = "\${B:-true}"`;
    expect(configOf(text, { N: '45' }).server).toMatchObject({ drainSecs: 45, publicDocs: true });
    expect(errorsOf(text, { N: '12x' })).toEqual(['server.toml:5:14: server.drain_secs: must be an integer']);
    expect(errorsOf(`${MINIMAL}[server]\npublic_docs = "true"`)).toEqual([
      'server.toml:5:15: server.public_docs: must be true or false',
    ]);
  });

  it('never adds, removes or changes another key (CF-I3)', () => {
    const syntax = fc.oneof(
      fc.string(),
      fc.stringMatching(/^["'\][{}=#\n,.${a-z:-]{1,40}$/),
      fc.constant('"\n[server]\nlisten = "x:1"'),
    );
    const plain = configOf(`${MINIMAL}[result_storage]\nprefix = "x"`);
    fc.assert(
      fc.property(
        syntax.filter((text) => text !== '' && !text.includes('\0')),
        (value) => {
          const config = configOf(`${MINIMAL}[result_storage]\nprefix = "\${V}"`, { V: value });
          expect(config.resultStorage.prefix).toBe(value);
          expect({ ...config.resultStorage, prefix: 'x', rootDir: '' }).toEqual({ ...plain.resultStorage, rootDir: '' });
          expect(config.shared).toEqual(plain.shared);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('messages', () => {
  it('never hold a secret, wherever the error is (CF-I5)', () => {
    const template = readFileSync('server.toml.example', 'utf8').replace(/^#(?=[a-z[])/gm, '');
    const secrets =
      /^((?:admin|agent|bot)_token|api_key|signing_secret|secret|secret_access_key|access_key_id|key|public_key|url) = .*$/gm;
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{24}$/), fc.constantFrom('', '"', "'", ' x', '}', '${'), (word, tail) => {
        const loaded = load(template.replace(secrets, (_, key: string) => `${key} = "${word}${tail}"`));
        if (loaded.ok) throw new Error('expected errors');
        const told = JSON.stringify([loaded.errors, loaded.warnings]);
        expect(told).not.toContain(word);
        for (const error of loaded.errors) expect(error.line).toBeGreaterThan(0);
      }),
      { numRuns: 20 },
    );
  });

  it('are given for any text instead of an exception', () => {
    const line = fc.constantFrom(
      '[a]',
      '[[workflows]]',
      '[auth]',
      'state_dir = 1',
      'roles = [[]]',
      '[[auth.groups]]',
      'x.y = 1',
      'name = {a = 1}',
      '[workflows.steps]',
      '"" = 1',
      '__proto__ = 1',
      'auth.roles = 5',
      "'constructor'.a = ''",
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.string(), (lines, rest) => {
        const loaded = load(`${lines.join('\n')}\n${rest}`);
        expect(loaded.ok).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  it('survive names nested without end', () => {
    expect(errorsOf(`[${'a.'.repeat(20_000)}a]`)[0]).toContain('server.toml:1:1:');
  });
});

describe('warnings', () => {
  it('name sections whose feature this version lacks (CF-5)', () => {
    const text = `${MINIMAL}[slack]\n[auth.oidc]\nissuer = "https://a.example.net"\nclient_id = "x"\n[result_storage]\nbackend = "s3"\n[auth]\nmode = "token"`;
    expect(warningsOf(text)).toEqual([
      'mcp.default_environment: no database has the environment development',
      'slack: not available in this version',
      'auth.oidc: not available in this version',
      'result_storage.backend: s3 is not available in this version',
      'auth.mode: has no effect',
    ]);
  });

  it('tell of pairs without workflow, of approvers nobody can be, and of groups only the identity provider knows (CF-10)', () => {
    const text = `${MINIMAL}[mcp]\nenabled = false\n[audit]\nredaction = "none"
[auth.oidc]\nissuer = "https://a.example.net"\nclient_id = "x"\nlink_existing_users = true
[[auth.roles]]\nname = "far"\npermissions = ["request.view"]\ndatabases = ["other"]
[[databases]]\nname = "app"\nenvironments = ["qa", "prod"]
[[workflows]]\ndatabase = "app"\nenvironment = "qa"\n[[workflows.steps]]
approvers = [{ role = "far" }, { group = "idp" }, { group = "idp" }]
[[workflows]]\ndatabase = "gone"\nenvironment = "nowhere"\nauto_approve = { mode = "always" }`;
    expect(warningsOf(text).filter((warning) => !warning.includes('not available'))).toEqual([
      'audit.redaction: none keeps SQL with its values in the audit log',
      'auth.oidc.link_existing_users: lets the identity provider act as any local user',
      'databases[0] "app".environments[1]: no workflow for app/prod: requests on it are refused',
      'workflows[0].steps[0].approvers[0].role: no user can hold role far here',
      'workflows[0].steps[0].approvers[1].group: group idp is not defined',
      'workflows[0].steps[0].approvers[2]: group:idp is twice in this step',
      'workflows[0].steps[0].approvers[2].group: group idp is not defined',
      'workflows[1].database: database gone is not defined',
    ]);
  });

  it('tell of more databases than the plan allows (OP-42)', () => {
    const databases = ['a', 'b', 'c', 'd'].map((name) => `[[databases]]\nname = "${name}"\nenvironments = ["x"]\n`).join('');
    expect(warningsOf(MINIMAL + databases)).toContain('databases[3] "d": database limit of the plan: 3');
  });
});

describe('workflow rules (WF-5)', () => {
  const steps = '[[workflows.steps]]\napprovers = [{ user = "mira" }, { role = "dba" }]\n';

  it('refuse the same user in two steps and warn of the same role, unless approvers may repeat', () => {
    expect(errorsOf(`${MINIMAL}[[workflows]]\n${steps}${steps}`)).toEqual([
      'server.toml:8:14: workflows[0].steps[1].approvers[0]: the same user in two steps, whose approvers must differ (or set allow_same_approver_across_steps)',
    ]);
    expect(warningsOf(`${MINIMAL}[[workflows]]\n${steps}${steps}`)).toContain(
      'workflows[0].steps[1].approvers[1]: role:dba is in several steps, whose approvers must differ',
    );
    expect(errorsOf(`${MINIMAL}[[workflows]]\nallow_same_approver_across_steps = true\n${steps}${steps}`)).toEqual([]);
  });

  it('refuse two workflows that could both decide', () => {
    const workflow = (operations: string) => `[[workflows]]\n${operations}\nauto_approve = { mode = "always" }\n`;
    expect(errorsOf(MINIMAL + workflow('') + workflow('operations = ["execute_dml"]'))).toEqual([
      'server.toml:7:1: workflows[1]: a workflow for all operations next to another one of the same pair',
    ]);
    expect(
      errorsOf(MINIMAL + workflow('operations = ["migrate_up", "execute_dml"]') + workflow('operations = ["execute_dml"]')),
    ).toEqual(['server.toml:8:15: workflows[1].operations[0]: execute_dml has another workflow of the same pair']);
  });
});

it('reads a licence that fits its public key (OP-47)', () => {
  const key =
    'svc_lic_v1.eyJrZXlfaWQiOiJsaWMtMDAwMSIsInBsYW4iOiJ0ZWFtIiwiaXNzdWVkX3RvIjoiRXhhbXBsZSBMdGQiLCJpc3N1ZWRfYXQiOiIyMDMxLTAxLTAxVDAwOjAwOjAwWiIsImV4cGlyZXNfYXQiOiIyMDMyLTAxLTAxVDAwOjAwOjAwWiJ9.77+Z6xQjWpI7rvbvRvO4QcPQXFCxc1Ob2T3roIT2Ius/a51j+XOsiA+4vNsnVU8xeRh0BBb2FtkJnsZGBfKuCw==';
  const publicKey = '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8';
  expect(configOf(`${MINIMAL}[license]\nkey = "${key}"\npublic_key = "${publicKey}"`).license.key).toBe(key);
});

it('refuses a file that is too large or no UTF-8', () => {
  expect(errorsOf(`#${' '.repeat(1_048_577)}`)).toEqual(['server.toml:1:1: is larger than 1 MiB']);
  expect(loadConfig(process.execPath, {})).toMatchObject({ ok: false });
});
