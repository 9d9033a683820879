import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorsOf, load, MINIMAL, warningsOf } from './support.js';

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
  it('name what has no effect', () => {
    const text = `${MINIMAL}[mcp]\n[result_storage]\nbackend = "s3"\n[auth]\nmode = "token"`;
    expect(warningsOf(text)).toEqual([
      'mcp.default_environment: no database has the environment development',
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
    expect(warningsOf(text)).toEqual([
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

  it.each([
    ['mode = "some"\napprovers = [{ role = "dba" }]', 'workflows[0].steps[0].mode'],
    ['approvers = [{ selector = "requester" }]', 'workflows[0].steps[0].approvers[0]'],
    ['approvers = [{ requester = true }]', 'workflows[0].steps[0].approvers[0]'],
  ])('WF-4, WF-5: refuse a step with %j', (text, place) => {
    const errors = errorsOf(`${MINIMAL}[[workflows]]\n[[workflows.steps]]\n${text}`);
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) expect(error).toContain(place);
  });

  it.each(['none', 'critical', 'High'])('WF-5: refuse the risk %s', (risk) => {
    const rule = `auto_approve = { mode = "risk_based", risk = "${risk}" }`;
    const errors = errorsOf(`${MINIMAL}[[workflows]]\n${rule}\n${steps}`);
    expect(errors).toEqual([expect.stringContaining('workflows[0].auto_approve.risk')]);
  });

  it('WF-5: refuse an operation listed twice, an approval_ttl_secs of 0, and warn of a selector twice in a step', () => {
    expect(errorsOf(`${MINIMAL}[[workflows]]\noperations = ["execute_dml", "execute_dml"]\n${steps}`)).not.toEqual([]);
    expect(errorsOf(`${MINIMAL}[[workflows]]\napproval_ttl_secs = 0\n${steps}`)).toEqual([
      expect.stringContaining('workflows[0].approval_ttl_secs'),
    ]);
    const twice = '[[workflows.steps]]\napprovers = [{ role = "dba" }, { role = "dba", min = 2 }]\n';
    expect(warningsOf(`${MINIMAL}[[workflows]]\n${twice}`)).toEqual(
      expect.arrayContaining([expect.stringContaining('workflows[0].steps[0].approvers[1]')]),
    );
  });

  it('refuse two workflows that could both decide', () => {
    const workflow = (operations: string) => `[[workflows]]\n${operations}\nauto_approve = { mode = "always" }\n`;
    expect(errorsOf(MINIMAL + workflow('') + workflow('operations = ["execute_dml"]'))).toEqual([
      'server.toml:7:1: workflows[1]: covers all operations, but another workflow has the same database and environment',
    ]);
    expect(
      errorsOf(MINIMAL + workflow('operations = ["migrate_up", "execute_dml"]') + workflow('operations = ["execute_dml"]')),
    ).toEqual([
      'server.toml:8:15: workflows[1].operations[0]: another workflow with the same database and environment covers execute_dml',
    ]);
  });
});
