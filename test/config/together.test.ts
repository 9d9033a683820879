import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorsOf, load, MINIMAL } from './support.js';

const told = (text: string) => {
  const loaded = load(text);
  return loaded.ok ? [] : loaded.errors.map(({ key, message }) => `${key}: ${message}`);
};

/** Independent mistakes: lines of one entry, and what each is told as, whatever stands beside it. */
const MISTAKES: [head: string, lines: [line: string, error: string][]][] = [
  [
    '[[workflows]]',
    [
      ['require_reson = true', 'workflows[0].require_reson: unknown key'],
      ['explain = "no"', 'workflows[0].explain: must be true or false'],
      ['pending_ttl_secs = 0', 'workflows[0].pending_ttl_secs: must be 1 to 2147483647'],
      ['operations = ["execute_dml", "drop"]', 'workflows[0].operations[1]: must be one of '],
      ['environment = "Prod"', 'workflows[0].environment: must be a name'],
      ['auto_approve = { mode = "risk_based" }', 'workflows[0].auto_approve.risk: is required for risk_based'],
      [
        'steps = [{ approvers = [{ group = "nosuch" }] }]',
        'workflows[0].steps[0].approvers[0].group: group nosuch is not defined',
      ],
    ],
  ],
  [
    '[[execution_policies]]',
    [
      ['max_executions = 0', 'execution_policies[0].max_executions: must be 1 to'],
      ['statement_timeout_secs = 601', 'execution_policies[0].statement_timeout_secs: must not exceed'],
      ['migration_statement_timeout_secs = 700', 'execution_policies[0].migration_statement_timeout_secs: must not exceed'],
      ['max_rows = "many"', 'execution_policies[0].max_rows: must be an integer'],
    ],
  ],
  [
    '[auth.oidc]',
    [
      ['jwks_uri = "ftp://keys"', 'auth.oidc.jwks_uri: must be an http'],
      ['link_existing_users = 1', 'auth.oidc.link_existing_users: must be true or false'],
      ['default_role = "nosuch"', 'auth.oidc.default_role: role nosuch is not defined'],
      ['issuer = "https://a.example.net"\nissuer_url = "https://a.example.net"', 'auth.oidc.issuer_url: appears twice'],
    ],
  ],
];
/** What the entry needs beside its mistakes, so that nothing else is told of it. */
const NEEDED: Record<string, (lines: string[]) => string> = {
  '[[workflows]]': (lines) => (lines.some((line) => /^(auto|steps)/.test(line)) ? '' : 'auto_approve = { mode = "always" }'),
  '[[execution_policies]]': () => '',
  '[auth.oidc]': (lines) =>
    `client_id = "x"\n${lines.some((line) => line.startsWith('issuer')) ? '' : 'issuer = "https://a.example.net"'}`,
};

describe('all mistakes of a file', () => {
  it.each(MISTAKES)('of one %s entry are told at once, rules over several keys among them (CF-5)', (head, mistakes) => {
    fc.assert(
      fc.property(fc.subarray(mistakes), (chosen) => {
        const lines = chosen.map(([line]) => line);
        const errors = told(`${MINIMAL}[mcp]\nenabled = false\n${head}\n${NEEDED[head]?.(lines)}\n${lines.join('\n')}`);
        for (const [, error] of chosen) {
          const isAlone = /auto_approve.risk/.test(error) && !lines.some((line) => line.startsWith('steps'));
          if (!isAlone) expect(errors.filter((text) => text.startsWith(error))).toHaveLength(1);
        }
        const known = [...mistakes.map(([, error]) => error), 'workflows[0].auto_approve.mode: risk_based needs steps'];
        expect(errors.filter((text) => !known.some((error) => text.startsWith(error)))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('of different entries are told in file order: keys, names that are not defined, repeated pairs', () => {
    const text = `${MINIMAL}[[workflows]]\nrequire_reson = true\n[[workflows.steps]]\napprovers = [{ role = "nosuch", min = 0 }]
[[sql_review]]\ntruncate = "maybe"\n[[sql_review]]\n[server]\ndrain_secs = 601`;
    expect(errorsOf(text)).toEqual([
      'server.toml:5:1: workflows[0].require_reson: unknown key (did you mean require_reason?)',
      'server.toml:7:23: workflows[0].steps[0].approvers[0].role: role nosuch is not defined (define it in [[auth.roles]])',
      'server.toml:7:39: workflows[0].steps[0].approvers[0].min: must be 1 to 2147483647',
      'server.toml:9:12: sql_review[0].truncate: must be one of block, warn, off',
      'server.toml:10:1: sql_review[1]: has the same database and environment as an earlier entry',
      'server.toml:12:14: server.drain_secs: must be 0 to 600',
    ]);
  });

  it('are told once each: rules are not asked about a key that has an error of its own', () => {
    expect(told(`${MINIMAL}[auth.oidc]\nissuer = 5\nclient_id = 5`)).toEqual([
      'auth.oidc.issuer: must be a string',
      'auth.oidc.client_id: must be a string',
    ]);
    expect(told(`${MINIMAL}[license]\nkey = "x"\npublic_key = "short"`)).toEqual([
      'license.public_key: must be 64 hex characters',
    ]);
    expect(told(`${MINIMAL}[[sql_review]]\ndatabase = "A"\n[[sql_review]]\ndatabase = "B"`)).toHaveLength(2);
    expect(told(`${MINIMAL}[[workflows]]\nsteps = [{ approvers = [{ role = 5 }] }]`)).toEqual([
      'workflows[0].steps[0].approvers[0].role: must be a string',
    ]);
    expect(told(`${MINIMAL}[[webhooks]]\nid = "a"\nurl = "nowhere"\nsecret = 5`)).toHaveLength(2);
  });
});
